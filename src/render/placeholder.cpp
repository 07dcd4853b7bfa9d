namespace attnlab {}
