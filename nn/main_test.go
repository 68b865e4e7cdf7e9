package nn

import (
	"os"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

func TestMain(m *testing.M) { os.Exit(law.Quickly(m)) }
