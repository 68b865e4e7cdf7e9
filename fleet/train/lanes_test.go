package train

import "testing"

// TestShallow: what helps is named where several gradients at a time are of so few steps that a job hardly learns.
func TestShallow(t *testing.T) {
	t.Parallel()
	const others = "more -epochs, fewer workers, or -mode=sync"
	for _, c := range []struct {
		rows, epochs, batch, lanes int
		steps                      int
		do                         string
	}{
		{200_000, 1, 512, 1, 390, ""},
		{200_000, 1, 512, 4, 97, ""},
		{200_000, 1, 512, 8, 48, "-batch=256, more -epochs, or fewer workers"},
		{200_000, 1, 256, 8, 97, ""},
		{200_000, 1, 512, 16, 24, "-batch=64, more -epochs, or fewer workers"},
		{200_000, 5, 512, 16, 122, "-batch=256, more -epochs, or fewer workers"},
		{200_000, 1, 64, 16, 195, ""},
		{200_000, 1, 4096, 2, 24, "-batch=2048, more -epochs, or fewer workers"},
		{1_000, 1, 64, 8, 1, others},
		{1_000, 1, 1, 2, 500, ""},
		{3, 1, 8, 8, 0, others},
	} {
		if steps, do := shallow(c.rows, c.epochs, c.batch, c.lanes); steps != c.steps || do != c.do {
			t.Errorf("%+v: %d steps, do %q", c, steps, do)
		}
		if do := c.do; do != "" && do != others {
			if _, again := shallow(c.rows, c.epochs, deep(c.rows, c.epochs, c.lanes), c.lanes); again != "" {
				t.Errorf("%+v: it is not enough: %s", c, again)
			}
		}
	}
}
