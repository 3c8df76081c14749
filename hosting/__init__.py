"""What the web server adds around Streamlit: headers, compression, a log without keys."""
