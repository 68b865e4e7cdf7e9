package mistyped

import "testing"

func TestNear(t *testing.T) {
	known := []string{"FLEET_TOKEN", "FLEET_TLS_DIR", "FLEET_LISTEN"}
	for name, want := range map[string]string{"FLEET_TOKENS": "FLEET_TOKEN", "FLEET_TOKN": "FLEET_TOKEN", "FLEET_TLSDIR": "FLEET_TLS_DIR", "FLEET_TSL_DIR": "FLEET_TLS_DIR",
		"FLEET_LITSEN": "FLEET_LISTEN", "FLEET_URL": "", "FLEET_SERVICE_HOST": "", "": ""} {
		if got := Near(name, known); got != want {
			t.Errorf("%s is near %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"same", "same", 0}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
