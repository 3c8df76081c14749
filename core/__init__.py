"""The engine of the LLM Latency Playground: plans, rewrites, timing, metrics. No Streamlit here."""
