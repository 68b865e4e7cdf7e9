package table

import (
	"os"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

func TestMain(m *testing.M) {
	law.Draws()
	os.Exit(law.Quickly(m))
}
