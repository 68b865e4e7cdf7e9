package weights

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/safetensors"
)

// TestStreamsShareMemory: of arrays that are read one after the other each has the memory of the one before, whose end may be said twice.
func TestStreamsShareMemory(t *testing.T) {
	read := func(value byte) {
		numbers := bytes.Repeat([]byte{value, 0, 0, 0}, 3)
		s, err := newStream(safetensors.F32, []int{3}, bytes.NewReader(numbers), 12, io.NopCloser(nil).Close)
		law.Check(t, err)
		other, err := newStream(safetensors.F32, []int{3}, bytes.NewReader(bytes.Repeat([]byte{0}, 12)), 12, io.NopCloser(nil).Close)
		law.Check(t, err)
		if w, err := s.floats(nil, 3); err != nil || len(w) != 3 || (w[2] == 0) != (value == 0) || s.end() != nil {
			t.Errorf("numbers are %v, %v", w, err)
		}
		s.close()
		s.close()
		if w, err := other.floats(nil, 3); err != nil || w[0] != 0 || other.end() != nil {
			t.Errorf("beside it numbers are %v, %v", w, err)
		}
		other.close()
	}
	read(1)
	const arrays = 400
	var before, then runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range arrays {
		read(byte(i))
	}
	runtime.ReadMemStats(&then)
	if all := then.TotalAlloc - before.TotalAlloc; all > arrays*streamBytes {
		t.Errorf("%d arrays at a time of two took %d bytes", 2*arrays, all)
	}
}
