"""Data sets: finding them, checking them, and putting downloads into place.

Run by CTest as: data_test.py MEDGRAD. The data here is made up; with MEDGRAD_DATA set, the real one
is taken through the same commands.
"""

import hashlib
import json
import os
import shutil
import struct
import tarfile
import unittest
import zipfile

from command import CommandTest, content, run

REAL = os.environ.get("MEDGRAD_DATA", "")
PTB = ("ptb.train.txt", "ptb.valid.txt", "ptb.test.txt")


SHAPES = {"distilbert": {"model_type": "distilbert", "dim": 768, "n_layers": 6},
          "minilm-l6": {"model_type": "bert", "hidden_size": 384, "num_hidden_layers": 6}}


def checkpoint_files(of="minilm-l6", number=0.5):
    """A checkpoint of that encoder with five pieces and nothing but their embedding."""
    width = SHAPES[of].get("dim", 384)
    name = "bert.embeddings.word_embeddings.weight"
    header = json.dumps({name: {"dtype": "F32", "shape": [5, width], "data_offsets": [0, 20 * width]}}).encode()
    numbers = [1.0] * (5 * width - 1) + [number]
    return {"config.json": json.dumps({"vocab_size": 5, **SHAPES[of]}),
            "vocab.txt": "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n",
            "model.safetensors": struct.pack("<Q", len(header)) + header + struct.pack(f"<{5 * width}f", *numbers)}


class DataTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.data, self.own = self.path("data"), self.path("xdg")
        os.mkdir(self.data)
        os.mkdir(self.own)
        self.environment = {**os.environ, "MEDGRAD_DATA": self.data, "XDG_DATA_HOME": self.own}

    def run_data(self, *arguments, code=0):
        result = run("data", *arguments, env=self.environment)
        self.assertEqual(result.returncode, code, result.stderr.decode() + result.stdout.decode())
        return result

    def refuse(self, sentence, *arguments):
        result = self.run_data(*arguments, code=2)
        self.assertEqual(result.stdout, b"")
        self.assertRegex(result.stderr.decode(), r"^medgrad: [^\n]*" + sentence + r"[^\n]*[.?]\n$")

    def put(self, folder, files):
        os.makedirs(os.path.join(self.folder.name, folder), exist_ok=True)
        for name, what in files.items():
            self.file(os.path.join(folder, name), what)
        return self.path(folder)

    def listed(self):
        json_text = self.run_data("list", "--format", "json").stdout
        return {one["name"]: one for one in json.loads(json_text)["data_sets"]}


class Places(DataTest):
    def test_list(self):
        self.put("data/ptb", {PTB[0]: "a\n"})
        self.put("xdg/medgrad/ptb", {name: "a b\n" for name in PTB})
        self.put("data/minilm-l6", {"vocab.txt": "a\n"})
        sets = self.listed()
        self.assertEqual(list(sets), ["ptb", "wikitext-2", "squad", "minilm-l6", "distilbert"])
        self.assertTrue(sets["ptb"]["found"])
        self.assertEqual(sets["ptb"]["folder"], os.path.join(self.own, "medgrad", "ptb"))
        self.assertEqual(sets["ptb"]["files"][0], {"name": PTB[0], "found": True, "bytes": 4})
        self.assertFalse(sets["minilm-l6"]["found"])
        self.assertEqual([file["found"] for file in sets["minilm-l6"]["files"]], [False, False, True])
        self.assertIsNone(sets["squad"]["folder"])
        self.assertIn("rajpurkar", sets["squad"]["source"])
        text = self.run_data("list").stdout.decode()
        self.assertIn("lacks model.safetensors and config.json", text.replace("\n" + " " * 14, " "))
        self.assertIn(self.data, text)

    def test_wrong_arguments(self):
        self.refuse("ACTION is missing")
        self.refuse("must be list, verify or prepare", "show")
        self.refuse("must be text or json", "list", "--format", "csv")
        self.refuse("'ptb' is one argument too many", "list", "ptb")
        self.refuse("--from is only for", "verify", "--from", self.data)
        self.refuse("Did you mean 'ptb'", "verify", "pbt")
        self.refuse("there are no data sets in .*data or .*medgrad", "verify")
        self.refuse("was not found in .*data/squad or .*; get its train-v1.1.json and dev-v1.1.json from "
                    "https://rajpurkar", "verify", "squad")
        self.refuse("takes the name of one data set, not 2", "prepare", "ptb", "squad")
        self.refuse("--from is missing", "prepare", "ptb")
        self.refuse("does not exist", "prepare", "ptb", "--from", self.path("none"))


class Verify(DataTest):
    def test_what_is_not_as_published(self):
        self.put("data/ptb", {name: "a b\n" for name in PTB})
        self.put("data/minilm-l6", checkpoint_files())
        result = self.run_data("verify", code=1)
        text = result.stdout.decode()
        self.assertIn("✗ ptb in ", text)
        self.assertIn("✗ train: 3 tokens in 1 line; expected: train: 929589 tokens in 42068 lines", text)
        self.assertIn("✓ minilm-l6 in ", text)
        self.assertEqual(result.stderr.decode(), "medgrad: 1 of 2 data sets differs from what was published.\n")
        verdicts = json.loads(self.run_data("verify", "--format", "json", code=1).stdout)["data_sets"]
        self.assertEqual([one["good"] for one in verdicts], [False, True])
        self.run_data("verify", "minilm-l6")

    def test_digests(self):
        files = checkpoint_files()
        self.put("data/minilm-l6", files)
        digest = hashlib.sha256(files["model.safetensors"]).hexdigest()
        self.file("data/SHA256SUMS", f"{digest}  minilm-l6/model.safetensors\n")
        self.assertIn("✓ SHA-256 checksums of 1 file", self.run_data("verify").stdout.decode())
        self.file("data/minilm-l6/SHA256SUMS", f"{'0' * 64} *model.safetensors\n")
        self.assertIn("✗ model.safetensors: the SHA-256 checksum differs",
                      self.run_data("verify", code=1).stdout.decode())

    def test_damage_is_told_with_its_place(self):
        files = checkpoint_files()
        bert = '{"model_type": "bert", "vocab_size": 5, '
        cases = [
            ("model.safetensors", files["model.safetensors"][:-1], "where the data of the file has 7679 bytes"),
            ("model.safetensors", b"garbage", "is not a safetensors file: it has 7 bytes"),
            ("model.safetensors", checkpoint_files(number=float("nan"))["model.safetensors"], "1 of them not finite"),
            ("config.json", "{\n]", "config.json:2: this is not JSON"),
            ("config.json", bert + '"num_hidden_layers": 6}', "has no 'hidden_size'"),
            ("config.json", bert + '"hidden_size": 3, "num_hidden_layers": 6}', "does not fit the vocabulary"),
            ("config.json", bert + '"hidden_size": 384, "num_hidden_layers": 1}',
             "config.json: a BERT-type encoder of 1 layer of 384; expected: config.json: MiniLM-L6"),
            ("config.json", bert.replace("bert", "distilbert") + '"dim": 384, "n_layers": 6}',
             "config.json: a BERT-type encoder of 6 layers of 384; expected: config.json: MiniLM-L6"),
            ("config.json", '{"vocab_size": 5, "model_type": 7, "hidden_size": 384, "num_hidden_layers": 6}', "model_type is '7'; it must be text"),
            ("vocab.txt", files["vocab.txt"] + "a\n", "vocab.txt:6: 'a' is given twice"),
            ("vocab.txt", files["vocab.txt"] + "b\n", "vocab.txt: 6 pieces; expected: vocab.txt: 5 pieces"),
        ]
        for name, what, finding in cases:
            self.put("data/minilm-l6", {**files, name: what})
            text = self.run_data("verify", code=1).stdout.decode()
            self.assertIn(finding, text)


class Prepare(DataTest):
    def archives(self):
        """The same files as a folder, a .tgz and a .zip, some folders down."""
        folder = self.put("download/some/where", checkpoint_files("distilbert"))
        top = self.path("download")
        with tarfile.open(self.path("it.tgz"), "w:gz") as tar:
            tar.add(top, "models")
        with zipfile.ZipFile(self.path("it.zip"), "w") as archive:
            for name in os.listdir(folder):
                archive.write(os.path.join(folder, name), "models/" + name)
        sources = [top, self.path("it.tgz")]
        return sources + ([self.path("it.zip")] if shutil.which("unzip") else [])

    def test_puts_files_into_place(self):
        for source in self.archives():
            with self.subTest(source=source):
                out = self.run_data("prepare", "distilbert", "--from", source).stdout.decode()
                place = os.path.join(self.own, "medgrad", "distilbert")
                self.assertIn(f"✓ distilbert is in {place}", out)
                self.assertEqual(sorted(os.listdir(place)), ["config.json", "model.safetensors", "vocab.txt"])
                self.assertEqual(os.listdir(os.path.dirname(place)), ["distilbert"])
                self.assertTrue(self.listed()["distilbert"]["found"])
                self.refuse("already exists", "prepare", "distilbert", "--from", source)
                shutil.rmtree(place)
        source = self.put("other", checkpoint_files("minilm-l6"))
        self.run_data("prepare", "minilm-l6", "--from", source, "--to", self.path("here"), "--quiet")
        self.assertEqual(os.listdir(self.path("here")), ["minilm-l6"])

    def test_one_encoder_is_not_the_other(self):
        for name, other, found, expected in (("distilbert", "minilm-l6", "MiniLM-L6", "DistilBERT"),
                                             ("minilm-l6", "distilbert", "DistilBERT", "MiniLM-L6")):
            source = self.put("from-" + other, checkpoint_files(other))
            self.refuse(f"is not the published {name}: found config.json: {found}, expected config.json: {expected}",
                        "prepare", name, "--from", source)
        self.assertEqual(os.listdir(self.own), [])

    def test_refuses_other_data_and_leaves_nothing(self):
        self.put("ptb", {name: "a b\n" for name in PTB})
        with tarfile.open(self.path("ptb.tar.gz"), "w:gz") as tar:
            tar.add(self.path("ptb"), "simple-examples/data")
        self.refuse("is not the published ptb: found train: 3 tokens", "prepare", "ptb", "--from",
                    self.path("ptb.tar.gz"))
        self.refuse("has no wiki.train.tokens, wiki.valid.tokens and wiki.test.tokens; wikitext-2 is published",
                    "prepare", "wikitext-2", "--from", self.path("ptb"))
        self.refuse("tar says that it is damaged", "prepare", "ptb", "--from", self.file("x.tgz", "no"))
        self.refuse("it must be a folder, or a", "prepare", "ptb", "--from", self.file("x.txt", "no"))
        self.assertEqual(os.listdir(self.own), [])

    @unittest.skipUnless(os.path.isdir(os.path.join(REAL, "ptb")), "needs ptb in MEDGRAD_DATA")
    def test_real_data(self):
        with tarfile.open(self.path("simple-examples.tgz"), "w:gz", compresslevel=1) as tar:
            tar.add(os.path.join(REAL, "ptb"), "simple-examples/data")
        self.run_data("prepare", "ptb", "--from", self.path("simple-examples.tgz"))
        self.run_data("verify", "ptb")
        self.assertEqual(content(os.path.join(self.own, "medgrad", "ptb", PTB[2])),
                         content(os.path.join(REAL, "ptb", PTB[2])))


if __name__ == "__main__":
    unittest.main()
