package main

import (
	"testing"

	"github.com/gofleet/gofleet/examples/internal/torchtest"
)

// TestAUCIsTorchs: the net learns what PyTorch's does of the same rows.
func TestAUCIsTorchs(t *testing.T) { torchtest.Compare(t, "ctr_dnn", program) }
