package strategy

import (
	"fmt"
	"time"
)

// Duration is a time.Duration, written as "30s" or "1m30s" in JSON and in flags (flag.TextVar).
type Duration time.Duration

// Std is d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String implements [fmt.Stringer].
func (d Duration) String() string { return d.Std().String() }

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf(`%q is not a duration; write it like "30s" or "1m30s"`, text)
	}
	*d = Duration(v)
	return nil
}
