"""Messages that need no model: thanks, greetings and the wish for a person, told by a few rules.

A message counts only if nothing is left of it once the known phrases are taken out: "Thanks, and
where is my parcel?" is a question. Rules know the words they were given, and no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.request import Request

_PERSON = (
    r"(?:(?:a|an|the|some)\s+)?(?:real\s+|human\s+|live\s+)?"
    r"(?:person|human|agent|someone|somebody)"
)

_TALK = r"(?:talk|speak|chat) (?:to|with)"

PHRASES: tuple[str, ...] = (
    r"thanks|thank you|thx|many|so much|very much|a lot|again",
    r"perfect|great|super|wonderful|ok|okay|all right|that is it|that'?s (?:it|all|perfect|great)",
    r"that (?:solved|fixed|did|was) (?:it|all)|that (?:helped|worked)|you helped me",
    r"hi|hello|hey|there|good (?:morning|afternoon|evening)|how are you|today",
    r"bye|goodbye|have a (?:nice|good|great) day|please",
    r"(?:i (?:want|need|would like|'?d like) to|can i|could i|let me) " + _TALK,
    r"(?:can|could) you|(?:put|connect|transfer) me (?:through )?(?:to|with)|" + _PERSON,
    r"(?:정말|너무|진짜|아주)?\s*(?:감사합니다|감사해요|고맙습니다|고마워요?)",
    r"덕분에|(?:잘\s*)?(?:해결|정리)(?:됐|되었)(?:어요|습니다)|잘\s*정했어요|도움이?\s*됐어요",
    r"안녕하세요|안녕히\s*계세요|좋은\s*하루\s*(?:되세요|보내세요)|네|넵|알겠습니다|알겠어요",
    r"상담(?:원|사)(?:과|이랑|을|에게)?|사람(?:과|이랑|하고)?|직원(?:과|이랑)?",
    r"연결해\s*(?:주세요|줘요?)|바꿔\s*(?:주세요|줘요?)|(?:통화|얘기|이야기)하고\s*싶(?:어요|은데요|습니다)",
)
_KNOWN = re.compile(r"(?<!\w)(?:" + "|".join(PHRASES) + r")(?!\w)", re.IGNORECASE)

TASKS: frozenset[str] = frozenset({"small_talk", "handover"})


def recognised(message: str) -> bool:
    """Whether the rules know every word of a message."""
    left = _KNOWN.sub(" ", message)
    return left.strip() != message.strip() and not re.search(r"\w", left)


def is_small_talk(request: Request) -> bool:
    """Whether a request is labelled as one."""
    return request.task in TASKS or "small_talk" in request.tags


def coverage(requests: Iterable[Request]) -> float:
    """Share of the small talk among these requests that the rules recognise; 0 without any."""
    known = [recognised(r.message) for r in requests if is_small_talk(r)]
    return sum(known) / len(known) if known else 0.0
