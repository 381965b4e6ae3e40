package source

import (
	"os"
	"strings"
	"testing"
)

// pythonSample is one class as a library has them: about 25 lines and 1 KB.
const pythonSample = `
class Session(Base, mixins.Closing):
    """One connection to the server.

    Keeps the cookies of the answers until it is closed.
    """

    @property
    @functools.lru_cache(maxsize=None)
    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        merged = {**self.defaults, "User-Agent": f"client/{self.version!r:>{self.width}}"}
        return {key.lower(): value for key, value in merged.items() if value is not None}

    async def send(self, request, *, timeout=30.0, retries: int = 3):
        # A retry waits twice as long as the one before it.
        for attempt in range(retries):
            try:
                answer = await self.transport.send(request, timeout=timeout * 2 ** attempt)
            except (TimeoutError, ConnectionError) as error:
                log.warning("attempt %d of %d: %s", attempt + 1, retries, error)
                continue
            if answer.status < 500:
                return Answer.from_raw(answer, session=self)[0]
        raise GaveUp("no answer after %d attempts" % retries)
`

func BenchmarkPython(b *testing.B) {
	src := "import functools\nfrom .base import Base, mixins\n" + strings.Repeat(pythonSample, 100)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if f := Scan("x.py", src); len(f.Entities) != 300 {
			b.Fatal(len(f.Entities))
		}
	}
}

// BenchmarkRepository scans all files of ROLLBENCH_ORACLE_DIR on one thread,
// without reading them.
func BenchmarkRepository(b *testing.B) {
	dir := os.Getenv("ROLLBENCH_ORACLE_DIR")
	if dir == "" {
		b.Skip("ROLLBENCH_ORACLE_DIR names no folder")
	}
	size := 0
	var sources []string
	for _, file := range pythonFiles(b, dir) {
		src, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		sources = append(sources, string(src))
		size += len(src)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, src := range sources {
			Scan("x.py", src)
		}
	}
	b.ReportMetric(float64(len(sources)), "files")
}
