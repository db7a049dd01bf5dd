"""One request: signing, retries and the judgement of its outcome. No I/O."""
