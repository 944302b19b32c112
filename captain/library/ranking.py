"""Hybrid ranking: nearness in meaning (dense) together with shared words (lexical), over all entries at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from captain.library.hits import Hit, Rules, Standing
from captain.library.lexicon import Lexicon

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from captain.embeddings.embedding import Matrix, Vector

    Rows = NDArray[np.intp]

Item = TypeVar("Item")

NEAR_COPY = 0.92
"""Cosine of two entries from which on they nearly say the same."""
_DOMAIN_TOP = 5
"""How many of a domain's entries speak for it: one may be a chance hit, many would punish wide domains."""
_COMPARED = 256
"""How many of the best entries are compared with each other at most."""


@dataclass(frozen=True)
class Entry:
    """What a search knows of an entry.

    Attributes:
        key: Its id, unique within its kind.
        meaning: The text that stands for it when meanings are compared.
        words: The text whose words are compared.
        domain: Entries of one domain support each other, where a search counts that.
    """

    key: str
    meaning: str
    words: str
    domain: str = ""


class Ranking(Generic[Item]):
    """Entries with their vectors and words, ready to be searched; it never changes."""

    def __init__(self, items: Sequence[Item], vectors: Matrix, entries: Sequence[Entry]) -> None:
        """
        Args:
            items: What a search returns.
            vectors: Array (entries, length), rows of length 1.
            entries: What is known of each item, in the same order.
        """
        self.items = tuple(items)
        self.vectors = vectors
        self.entries = tuple(entries)
        self._lexicon = Lexicon(entry.words for entry in self.entries)
        self._rows = {entry.key: row for row, entry in enumerate(self.entries)}

    def search(
        self,
        text: str,
        vector: Vector,
        *,
        top_k: int,
        rules: Rules,
        record: Mapping[str, Standing] | None = None,
    ) -> list[Hit[Item]]:
        """The best entries, best first; equal scores keep the order of the entries.

        Args:
            text: The query.
            vector: Its embedding.
            top_k: How many at most.
            rules: What counts how much.
            record: Key -> what the record of use makes of the entry; the others are taken as unknown.
        """
        if not self.items or top_k < 1:
            return []
        dense = self.vectors @ vector
        lexical = self._lexicon.scores(text)
        similarity = rules.dense_share * dense + rules.lexical_share * lexical
        domain = self._domain_scores(similarity) if rules.domain_share else None
        if domain is not None:
            domain = self._with_domain_words(text, domain, rules.domain_words * rules.lexical_share)
            similarity = (1 - rules.domain_share) * similarity + rules.domain_share * domain
        record = {} if record is None else record
        score = self._by_use(similarity, record)
        best = _best(score, similarity >= rules.threshold, count=max(top_k, _COMPARED))
        best = self._spread(best, score, rules.spread, top_k) if rules.spread else best
        copies = self._copies(best, top_k) if rules.diversity else {}
        ordered = [row for row in best if row not in copies] + [row for row in best if row in copies]
        return [
            self._hit(row, score, (dense, lexical, similarity, domain), record, copies.get(row))
            for row in ordered[:top_k]
        ]

    def nearest(self, vector: Vector, count: int) -> list[Item]:
        """The entries nearest in meaning, nearest first."""
        if not self.items:
            return []
        return [self.items[int(row)] for row in (-(self.vectors @ vector)).argsort(kind="stable")[:count]]

    def _hit(
        self,
        row: int,
        score: Vector,
        parts: tuple[Vector, Vector, Vector, Vector | None],
        record: Mapping[str, Standing],
        near: int | None,
    ) -> Hit[Item]:
        dense, lexical, similarity, domain = parts
        standing = record.get(self.entries[row].key, Standing())
        return Hit(
            self.items[row],
            score=float(score[row]),
            dense=float(dense[row]),
            lexical=float(lexical[row]),
            similarity=float(similarity[row]),
            domain=None if domain is None else float(domain[row]),
            success=standing.success,
            cost=standing.cost,
            near=None if near is None else self.entries[near].key,
        )

    def _by_use(self, similarity: Vector, record: Mapping[str, Standing]) -> Vector:
        """Similarity times the factors of those that have a record (a negative one is left alone)."""
        import numpy as np

        known = [(self._rows[key], of.success * of.cost) for key, of in record.items() if key in self._rows]
        if not known:
            return similarity
        rows = np.array([row for row, _ in known])
        score = similarity.copy()
        factors = np.array([factor for _, factor in known], np.float32)
        score[rows] *= np.where(score[rows] > 0, factors, 1)
        return score

    def _copies(self, best: Sequence[int], top_k: int) -> dict[int, int]:
        """Entry that nearly says the same as a better one -> that one; only as far as the list needs it."""
        import numpy as np

        vectors = self.vectors[np.array(best, np.intp)]
        open_places = np.ones(len(best), bool)
        copies: dict[int, int] = {}
        for _ in range(top_k):
            if not open_places.any():
                break
            place = int(open_places.argmax())
            alike = open_places & (vectors @ vectors[place] > NEAR_COPY)
            alike[place] = True
            copies |= {best[int(other)]: best[place] for other in np.flatnonzero(alike) if other != place}
            open_places &= ~alike
        return copies

    @cached_property
    def _domains(self) -> tuple[Rows, Any, Any]:
        """Rows sorted by domain, where each domain starts there, and the number of each sorted row's domain."""
        import numpy as np

        _, numbers = np.unique([entry.domain for entry in self.entries], return_inverse=True)
        order = numbers.argsort(kind="stable")
        numbers = numbers[order]
        return order, np.flatnonzero(np.diff(numbers, prepend=-1)), numbers

    @cached_property
    def _domain_words(self) -> tuple[Lexicon, Rows]:
        """The words of each domain taken together, and the number of each row's domain."""
        import numpy as np

        known, numbers = np.unique([entry.domain for entry in self.entries], return_inverse=True)
        texts: list[list[str]] = [[] for _ in known]
        for entry, number in zip(self.entries, numbers, strict=True):
            texts[int(number)].append(entry.words)
        return Lexicon(" ".join(part) for part in texts), numbers

    def _with_domain_words(self, text: str, scores: Vector, weight: float) -> Vector:
        """The scores of the domains, lifted by the words of the query that stand anywhere in the domain.

        The words of a long text are spread over a field; no single entry holds many of them.
        """
        if not weight:
            return scores
        lexicon, numbers = self._domain_words
        lifted: Vector = scores + scores.dtype.type(weight) * lexicon.scores(text)[numbers]
        return lifted

    def _spread(self, best: list[int], score: Vector, loss: float, top_k: int) -> list[int]:
        """The best entries so that each better one of the same domain costs an entry `loss` of its score.

        A query between two fields then gets experts of both, also where one field alone could fill the list.
        """
        taken: dict[str, int] = {}
        rest = list(best)
        chosen: list[int] = []
        while rest and len(chosen) < top_k:
            row = max(rest, key=lambda one: score[one] - loss * taken.get(self.entries[one].domain, 0))
            rest.remove(row)
            chosen.append(row)
            domain = self.entries[row].domain
            taken[domain] = taken.get(domain, 0) + 1
        return chosen + rest

    def _domain_scores(self, similarity: Vector) -> Vector:
        """For each entry the mean of the best five scores in its domain.

        An entry of a smaller domain gets its best score less what the best usually lies above that mean in the domains
        that are large enough, so that small domains gain nothing by being small.
        """
        import numpy as np

        order, starts, numbers = self._domains
        left = similarity[order].astype(np.float64)
        places = np.arange(len(left))
        first_score = total = np.zeros(len(starts))
        count = np.zeros(len(starts))
        for turn in range(_DOMAIN_TOP):
            top = np.maximum.reduceat(left, starts)
            found = np.isfinite(top)
            first_score = top if turn == 0 else first_score
            total = total + np.where(found, top, 0)
            count += found
            first = np.minimum.reduceat(np.where(left == top[numbers], places, len(left)), starts)
            left[first[found]] = -np.inf
        mean, large = total / count, count == _DOMAIN_TOP
        usual = float(np.median((first_score - mean)[large])) if large.any() else 0.0
        scores = np.empty_like(similarity)
        scores[order] = np.where(large, mean, first_score - usual)[numbers]
        return scores


def _best(score: Vector, allowed: NDArray[np.bool_], *, count: int) -> list[int]:
    """The rows of the highest scores among the allowed ones, highest first, equal ones in their order."""
    import numpy as np

    rows = np.flatnonzero(allowed)
    if len(rows) > count:
        bound = np.partition(score[rows], len(rows) - count)[len(rows) - count]
        rows = rows[score[rows] >= bound]
    return [int(row) for row in rows[(-score[rows]).argsort(kind="stable")][:count]]
