"""What experiments share: how one is declared, run, recorded and drawn, and the workloads several of them run."""
