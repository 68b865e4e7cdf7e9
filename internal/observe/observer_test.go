package observe

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestStrangeVariables: other names that begin with FLEET_ are warned of, once, but for those of a service in Kubernetes, and so is FLEET_UI, with
// what replaces it.
func TestStrangeVariables(t *testing.T) {
	// Serial: it sets variables of the environment.
	var log bytes.Buffer
	to := slog.New(slog.NewTextHandler(&log, nil))
	t.Setenv("FLEET_SERVICE_HOST", "10.0.0.1")
	t.Setenv("FLEET_PORT_80_TCP_ADDR", "10.0.0.1")
	t.Setenv("FLEET_TELEMETRY", "on")
	t.Setenv("FLEET_UI", ":8900")
	warnVariables = sync.Once{}
	for range 2 {
		if _, err := FromEnv(to); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "FLEET_TELEMETRY"); n != 1 || strings.Contains(log.String(), "10.0.0.1") || strings.Contains(log.String(), "FLEET_SERVICE") {
		t.Errorf("it said:\n%s", log.String())
	}
	if n := strings.Count(log.String(), "level=WARN msg=\"FLEET_UI shows no page any more: start all roles with FLEET_METRICS=:9100, and show them with"); n != 1 {
		t.Errorf("it said %d times what replaces FLEET_UI:\n%s", n, log.String())
	}
}

// TestLogsAsJSON: FLEET_LOG=json makes the default log one of JSON lines, debug shows what is logged at that level, and an unknown format is refused.
func TestLogsAsJSON(t *testing.T) {
	// Serial: it sets variables of the environment, and the default log.
	before, stderr := slog.Default(), os.Stderr
	r, w, err := os.Pipe()
	law.Check(t, err)
	os.Stderr = w
	jsonLogs = sync.Once{}
	t.Cleanup(func() { slog.SetDefault(before); os.Stderr = stderr; r.Close() })
	t.Setenv("FLEET_LOG", "json")
	o, err := FromEnv(nil)
	law.Check(t, err)
	o.Log.Info("trains alone")
	w.Close()
	said, _ := io.ReadAll(r)
	var line struct{ Level, Msg string }
	if err := json.Unmarshal(said, &line); err != nil || line.Level != "INFO" || !strings.Contains(line.Msg, "trains alone") {
		t.Errorf("it says %s: %v", said, err)
	}
	t.Setenv("FLEET_LOG", "debug")
	defer slog.SetLogLoggerLevel(slog.LevelInfo)
	slog.SetDefault(before)
	if _, err := FromEnv(nil); err != nil || !slog.Default().Enabled(t.Context(), slog.LevelDebug) {
		t.Errorf("debug is not shown, %v", err)
	}
	t.Setenv("FLEET_LOG", "xml")
	if _, err := FromEnv(nil); err == nil || !strings.Contains(err.Error(), `FLEET_LOG is "xml"; it can be text, debug or json`) {
		t.Errorf("error %v", err)
	}
}
