#!/usr/bin/env bash
# mpi_test.sh MPIRUN PROGRAM: the MPI engine between processes.
set -euo pipefail
run=("$1" --allow-run-as-root --oversubscribe --mca btl_base_warn_component_unused 0)
export OMPI_MCA_rmaps_base_oversubscribe=1
for ranks in "2 bits" "4 bits" "8 traffic"; do
  read -r n what <<< "$ranks"
  said=$("${run[@]}" -n "$n" "$2" "$what")
  [ "$(grep -c "is fine" <<< "$said")" = "$n" ] || { echo "$said"; exit 1; }
  [ "$(wc -l <<< "$said")" = "$n" ] || { echo "$said"; exit 1; }
done
# A rank that stalls: a sentence, exit code 1, well before it would have come back.
begin=$SECONDS
if said=$("${run[@]}" -n 3 "$2" stall 2>&1); then echo "a stall went unnoticed"; exit 1; fi
grep -q "A worker did not answer within 0.5 seconds." <<< "$said" || { echo "$said"; exit 1; }
[ $((SECONDS - begin)) -lt 15 ] || { echo "it took $((SECONDS - begin)) seconds to end"; exit 1; }
