"""Reward functions that a verl config points at, by ``pkg://reward_fns.<name>`` or by file path; see docs/data.md.

Each module has one ``compute_score``, called with verl's keywords; its settings come from
``reward.custom_reward_function.reward_kwargs``. Every sample gets the same keys, accuracy apart from shaping.
"""
