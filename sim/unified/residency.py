"""Which pages the GPU has, and which block makes room next.

Memory is given to a block whole, when its first page comes, and taken from it whole. Blocks without pages go first, in
the order in which they lost their last; then the others, in the order in which they got memory: reading a page does not
move its block back in the queue (uvm_pmm_gpu.c:1440-1512).
"""


class Residency:
    """The GPU's memory as blocks of pages."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._pages: dict[int, set[int]] = {}
        self._used: dict[int, None] = {}
        self._unused: dict[int, None] = {}

    def pages(self, block: int) -> set[int]:
        """Return which pages of a block are on the GPU."""
        return self._pages.get(block, set())

    def holds(self, block: int, page: int) -> bool:
        """Tell whether a page is on the GPU."""
        return page in self.pages(block)

    @property
    def total(self) -> int:
        """How many pages are on the GPU."""
        return sum(map(len, self._pages.values()))

    def make_room(self, block: int) -> tuple[int, set[int]] | None:
        """Give a block memory; return the block that had to go for it, if any, and the pages it had."""
        victim = None
        if block not in self._pages:
            if len(self._pages) == self._capacity:
                goes = next(iter(self._unused or self._used))
                victim = goes, self.release(goes)
            self._pages[block] = set()
            self._unused[block] = None
        return victim

    def add(self, block: int, pages: set[int]) -> None:
        """Pages came to the GPU, into a block that has memory."""
        if block in self._unused:
            del self._unused[block]
            self._used[block] = None
        self._pages[block] |= pages

    def remove(self, block: int, pages: set[int]) -> None:
        """Pages left the GPU; their block keeps its memory until another needs it."""
        self._pages[block] -= pages
        if not self._pages[block] and block in self._used:
            del self._used[block]
            self._unused[block] = None

    def release(self, block: int) -> set[int]:
        """Take a block's memory away; return the pages it had."""
        self._used.pop(block, None)
        self._unused.pop(block, None)
        return self._pages.pop(block, set())
