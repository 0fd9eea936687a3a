"""States of optimisers in files of safetensors."""
import json
import struct

import medgrad
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import medgrad.torch as mt  # noqa: E402
from small_model import parameters, run, same  # noqa: E402

MAKERS = {"sgd": lambda p: mt.MedianSGD([{"params": p[:2], "lr": torch.tensor(0.05)}, {"params": p[2:], "name": "rest"}], 0.1, tau="auto",
                                        scope="group"),
          "clipped": lambda p: mt.ClippedSGD(p, 0.1, bad_gradient="skip"), "adam": lambda p: mt.MedianAdam(p, 0.1, cut=float("inf")),
          "wrap": lambda p: mt.wrap(torch.optim.AdamW(p, 0.1, amsgrad=True), "cclip", tau="auto", exclude=p[1]),
          "torch": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)}


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_goes_on_bit_for_bit(make, kind, tmp_path):
    def fresh():
        params = parameters(kind)
        return make(params), params

    expected = run(*fresh())
    half, others = fresh(), fresh()
    weights = run(*half, range(6))
    (tmp_path / "state").write_bytes(b"what was there before")
    mt.save_state(half[0], tmp_path / "state")
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    for w, value in zip(others[1], weights):
        w.data.copy_(value)
    mt.load_state(others[0], tmp_path / "state")
    assert same(run(*others, range(6, 12)), expected)


def test_m_has_the_layout_of_its_weights(tmp_path):
    def fresh():
        torch.manual_seed(0)
        w = torch.randn(3, 4, 5, 6).contiguous(memory_format=torch.channels_last).requires_grad_()
        return mt.MedianAdam([w], 0.1), [w]

    half, others = fresh(), fresh()
    run(*half, range(3))
    mt.save_state(half[0], tmp_path / "state")
    mt.load_state(others[0], tmp_path / "state")
    m, mine = half[0].estimate(half[1][0]), others[0].estimate(others[1][0])
    assert torch.equal(m, mine) and m.stride() == mine.stride() == others[1][0].stride()


def test_what_is_in_a_file(tmp_path):
    params, path = parameters(torch.float32), tmp_path / "x.safetensors"
    optimizer = MAKERS["wrap"](params)
    run(optimizer, params)
    mt.save_state(optimizer, path)
    read = medgrad.load_checkpoint(path)
    assert (read["kind"], read["version"]) == ("state", medgrad.__version__)
    assert np.array_equal(read["state"]["filter"]["state"][0]["m"], optimizer.estimate(params[0]).numpy())
    assert read["state"]["param_groups"][0]["betas"] == [0.9, 0.999] and 1 not in read["state"]["filter"]["state"]
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    assert length % 8 == 0 and header["__metadata__"]["format"] == "1"
    json.loads(header["__metadata__"]["state"], parse_constant=lambda word: pytest.fail(word))
    ends = sorted(one["data_offsets"] for name, one in header.items() if name != "__metadata__")
    assert [begin for begin, _ in ends] == [0] + [end for _, end in ends[:-1]] and ends[-1][1] == len(data) - 8 - length


def test_the_package_safetensors_reads_it_too(tmp_path):
    safetensors = pytest.importorskip("safetensors", reason="the package safetensors is not installed")
    params, path = parameters(torch.float32), str(tmp_path / "x.safetensors")
    optimizer = MAKERS["adam"](params)
    run(optimizer, params)
    mt.save_state(optimizer, path)
    with safetensors.safe_open(path, framework="np") as file:
        assert np.array_equal(file.get_tensor("state.state.0.m"), optimizer.estimate(params[0]).numpy())


def test_what_is_refused(tmp_path):
    params, path = parameters(), tmp_path / "x.safetensors"
    optimizer = MAKERS["adam"](params)
    run(optimizer, params, range(2))
    mt.save_state(optimizer, path)
    good = path.read_bytes()
    optimizer.param_groups[0]["mine"] = {1, 2}
    with pytest.raises(TypeError, match=r"state.param_groups.0.mine is set; a saved state has numbers"):
        mt.save_state(optimizer, path)
    optimizer.param_groups[0]["mine"] = torch.ones(2).to_sparse()
    with pytest.raises(TypeError, match=r"state.param_groups.0.mine is torch.float32, torch.sparse"):
        mt.save_state(optimizer, path)
    with pytest.raises(FileNotFoundError):
        mt.save_state(MAKERS["clipped"](params), tmp_path / "nothing" / "x")
    assert path.read_bytes() == good and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(ValueError, match="of another optimiser than ClippedSGD"):
        mt.load_state(MAKERS["clipped"](params), path)
    path.write_bytes(good[:-5] + b"x" + good[-4:])
    with pytest.raises(ValueError, match="is not a checkpoint of medgrad, or is damaged"):
        mt.load_state(MAKERS["adam"](params), path)
