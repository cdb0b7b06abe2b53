"""PageRank on the CPU: residuals kept between batches and pushed where they are worth most."""
