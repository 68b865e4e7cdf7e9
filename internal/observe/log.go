package observe

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

var jsonLogs sync.Once

// logger is the program's default logger, with records of level debug if FLEET_LOG is debug, or one of JSON lines on
// stderr with FLEET_LOG=json.
func logger() (*slog.Logger, error) {
	switch format := os.Getenv("FLEET_LOG"); format {
	case "", "text":
	case "debug":
		slog.SetLogLoggerLevel(slog.LevelDebug)
	case "json":
		jsonLogs.Do(func() { slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil))) })
	default:
		return nil, fmt.Errorf("FLEET_LOG is %q; it can be text, debug or json", format)
	}
	return slog.Default(), nil
}

// keeping is a log handler that also keeps warnings for the page.
type keeping struct {
	slog.Handler
	lines slog.Handler // formats for a keeper
}

// keep returns a log whose warnings are also kept.
func keep(log *slog.Logger, in *Warnings) *slog.Logger {
	o := slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{} // the page shows the time
		}
		return a
	}}
	return slog.New(keeping{log.Handler(), slog.NewTextHandler(keeper{in}, &o)})
}

func (h keeping) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		_ = h.lines.Handle(ctx, r) // a keeper never fails
	}
	return h.Handler.Handle(ctx, r)
}

func (h keeping) WithAttrs(attrs []slog.Attr) slog.Handler {
	return keeping{h.Handler.WithAttrs(attrs), h.lines.WithAttrs(attrs)}
}

func (h keeping) WithGroup(name string) slog.Handler {
	return keeping{h.Handler.WithGroup(name), h.lines.WithGroup(name)}
}

// keeper keeps the lines that are written to it.
type keeper struct{ in *Warnings }

func (k keeper) Write(line []byte) (int, error) {
	text := strings.TrimPrefix(strings.TrimSpace(string(line)), "level=")
	k.in.Add("", text, strings.HasPrefix(text, "ERROR"), time.Now())
	return len(line), nil
}
