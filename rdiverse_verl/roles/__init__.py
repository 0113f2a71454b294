"""The three roles of self-play: what each is asked (the papers' prompts) and how its reply is read."""
