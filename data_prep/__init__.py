"""One script a data set: ``python -m data_prep.gsm8k --local_save_dir DIR`` writes parquet in verl's columns.

See docs/data.md.
"""
