package main

import (
	"testing"

	"github.com/gofleet/gofleet/examples/internal/torchtest"
)

// TestTwin: the net learns what PyTorch's does of the same rows, faster.
func TestTwin(t *testing.T) { torchtest.CompareTwin(t, program, 1.2) }
