"""PageRank on a GPU: residuals kept between batches, pushed in rounds under a falling threshold."""
