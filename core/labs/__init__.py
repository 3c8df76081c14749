"""What the lab pages work out, without drawing it.

| modules | work out |
| --- | --- |
| json_text | JSON read and written with its numbers as they were typed |
| shapes, short_keys | the same data in fewer tokens |
| token_pieces, shared_prefix | tokens one can look at; what two prompts have in common |
| languages, guide_keys | English against Korean; a published saving, counted again |
| token_time | output saved against input added, in seconds |
| pairs, example_pairs | labelled requests with their measured likeness; telling ones |
| cached_pair, cache_sweep | what a semantic cache says to two questions, and to many |
| key_leaks, cache_stream | a key without one of its parts; a stream through all layers |
| rag, recall_table, encoder_race | stages timed here; what settings find; encoders side by side |
| desk | work of encoders beside the pages' scripts |
"""
