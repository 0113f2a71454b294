"""What our trainers add to the rows of verl's batches, under names that no data set has."""

# of every training row, and of no validation row: what its samples are drawn with
ROW_SEED = "rdiverse_seed"

# of a validation row: how many rows before it have the same prompt
COPY = "rdiverse_copy"

# with ExTra: the data set row as JSON, whose memory the row belongs to, and the prefix that it continues
SOURCE, ROOT, PREFIX = "rdiverse_source", "rdiverse_root", "rdiverse_prefix"
