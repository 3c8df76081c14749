"""Benches of caching, retrieval and routing on labelled data: speed, and what it does to answers.

`cache` and `router` also take a folder with public data: `banking77_train.csv` and
`banking77_test.csv` (columns text, category), for `cache` also `kor_pair_train.csv` and
`kor_pair_test.csv` (columns question1, question2, is_duplicate; 0 means the same). Without it they
use the shipped requests alone. All return figures with their n, ready for JSON.
"""

from core.retrieval.bench_cache import cache
from core.retrieval.bench_router import router
from core.retrieval.bench_search import retrieval

__all__ = ["cache", "retrieval", "router"]
