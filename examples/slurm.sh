#!/bin/sh
# A training on four nodes of a cluster that Slurm manages: sbatch examples/slurm.sh
#SBATCH --job-name=fedplt
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=02:00:00
#SBATCH --signal=B:TERM@120
set -eu

# One process a node and a thread a core. With another division (--ntasks-per-node=4 --cpus-per-task=8) the
# model has the same bits.
config=${1:-examples/paper.yaml}
state=${SLURM_SUBMIT_DIR:-.}/fedplt.state

# A job that ran out of time, or lost a node, goes on where its last checkpoint is, on any number of nodes.
resume=""
[ ! -f "$state" ] || resume="--resume $state"

# shellcheck disable=SC2086
exec mpirun --map-by node --bind-to none -n "${SLURM_NTASKS:-4}" \
    fedplt train "$config" --engine mpi --threads "${SLURM_CPUS_PER_TASK:-0}" \
    --checkpoint "$state" --checkpoint-every 100 $resume --out "${SLURM_SUBMIT_DIR:-.}/fedplt-out"
