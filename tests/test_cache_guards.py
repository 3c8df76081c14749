"""Guards: what they tell apart, what they let pass, in English and Korean."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import InvalidData
from core.retrieval.critical_terms import groups, read_groups
from core.retrieval.guards import ALL_GUARDS, GUARDS, GuardId, objections
from core.retrieval.quantities import quantities
from core.scenarios import SCENARIOS, scenario

APART: list[tuple[GuardId, str, str]] = [
    ("numbers", "Can I return it within 30 days?", "Can I return it within 40 days?"),
    ("numbers", "Where is order LS-48213?", "Where is order LS-48231?"),
    ("numbers", "Jeju, 3 nights", "Jeju, 13 nights"),
    ("numbers", "a trip of three days", "a trip of three nights"),
    ("numbers", "둘이서 부산 2박", "셋이서 부산 2박"),
    ("numbers", "12일 된 스피커", "42일 된 스피커"),
    ("polarity", "with our kids", "without our kids"),
    ("polarity", "Does it work abroad?", "Why doesn't it work abroad?"),
    ("polarity", "배송이 왔어요", "배송이 안 왔어요"),
    ("polarity", "환불이 되나요?", "환불이 되지 않나요?"),
    ("polarity", "개봉한 제품", "미개봉 제품"),
    ("critical_terms", "before the deadline", "after the deadline"),
    ("critical_terms", "Can I get a refund?", "Can I get an exchange?"),
    ("critical_terms", "four days in Tokyo", "four days in Osaka"),
    ("critical_terms", "from Seoul to Tokyo", "from Tokyo to Seoul"),
    ("critical_terms", "What time is check-in?", "What time is check-out?"),
    ("critical_terms", "Can I return a laptop?", "Can I return an opened laptop?"),
    ("critical_terms", "도쿄에서 서울 가는 비행기", "서울에서 도쿄 가는 비행기"),
    ("critical_terms", "체크인 전에 짐 보관", "체크아웃 후에 짐 보관"),
    ("critical_terms", "블랙을 화이트로 교환할 수 있나요?", "블랙을 환불받을 수 있나요?"),
]

TOGETHER = [
    ("When do I get my refund?", "How long until I get my money back?"),
    ("return within two weeks", "return within 14 days"),
    ("Flights to Tokyo from Seoul on Friday", "From Seoul to Tokyo, Friday"),
    ("친구 셋이서 부산 2박 3일", "부산 2박, 친구 세 명"),
    ("안내 메일을 받았어요", "안내 메일이 왔어요"),
    ("오사카에서 3박 하려고요", "오사카 3박이요"),
    ("A thousand thanks", "Thank you"),
]


@pytest.mark.parametrize(("guard", "one", "other"), APART)
def test_a_guard_speaks_and_its_switch_silences_it(guard: GuardId, one: str, other: str) -> None:
    assert guard in {o.guard for o in objections(one, other)}
    assert guard in {o.guard for o in objections(other, one)}
    assert guard not in {o.guard for o in objections(one, other, ALL_GUARDS - {guard})}


@pytest.mark.parametrize(("one", "other"), TOGETHER)
def test_the_same_in_other_words_passes(one: str, other: str) -> None:
    assert objections(one, other) == ()


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_guard_objects_to_a_question_and_itself(name: str) -> None:
    for request in scenario(name).requests:
        assert objections(request.message, request.message) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,299 dollars", {"1299"}),
        ("5만 원", {"50000"}),
        ("3.5 hours", {"3.5 hour"}),
        ("일주일 뒤", {"7 day"}),
        ("2박 3일", {"2 night"}),
        ("20% off", {"20 percent"}),
        ("on 14.11.2026", {"14.11.2026"}),
        ("30-day window", {"30 day"}),
        ("세 명, 두 달", {"3", "2 month"}),
        ("오전 9시", {"9 o'clock"}),
        ("a new one", set()),
        ("둘러볼 곳", set()),
    ],
)
def test_quantities(text: str, expected: set[str]) -> None:
    assert quantities(text) == expected


def test_every_guard_is_in_the_catalogue_once() -> None:
    assert [guard.id for guard in GUARDS] == ["numbers", "polarity", "critical_terms"]


def test_every_term_is_in_one_group_only() -> None:
    names = [(group.id, term.name) for group in groups() for term in group.terms]
    assert len(set(names)) == len(names)
    assert len({group.id for group in groups()}) == len(groups())


def test_a_broken_file_of_terms_is_named(tmp_path: Path) -> None:
    file = tmp_path / "terms.toml"
    for content in (
        "[[group]]\nid = 'x'\n",
        "nonsense",
        "[[group]]\nid='x'\n[group.terms]\na=['(','b']",
    ):
        file.write_text(content)
        with pytest.raises(InvalidData, match=r"terms\.toml"):
            read_groups(file)
