package mode

import (
	"fmt"
	"strconv"
	"testing"
)

func float(t *testing.T, s string) float32 {
	v, err := strconv.ParseFloat(s, 32)
	if err != nil {
		t.Fatal(err)
	}
	return float32(v)
}

func round(t *testing.T, s string) Round {
	var p, i uint32
	if _, err := fmt.Sscanf(s, "%d.%d", &p, &i); err != nil {
		t.Fatalf("round %q: %v", s, err)
	}
	return At(p, i)
}
