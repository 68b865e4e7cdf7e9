package fleet

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
)

var jsonLogs sync.Once

// logger is the program's default one, which FLEET_LOG=json makes one of JSON lines on stderr.
func logger() (*slog.Logger, error) {
	switch format := os.Getenv("FLEET_LOG"); format {
	case "", "text":
	case "json":
		jsonLogs.Do(func() { slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil))) })
	default:
		return nil, fmt.Errorf("fleet: FLEET_LOG is %q; it can be text or json", format)
	}
	return slog.Default(), nil
}
