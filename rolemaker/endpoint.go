package rolemaker

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// checkEndpoints says which of the list can't be an endpoint or is there twice.
func checkEndpoints(list []string) error {
	seen := make(map[string]bool, len(list))
	for _, e := range list {
		if err := checkEndpoint(e); err != nil {
			return err
		}
		if seen[e] {
			return fmt.Errorf("endpoint %q is there twice", e)
		}
		seen[e] = true
	}
	return nil
}

func checkEndpoint(e string) error {
	if path, ok := strings.CutPrefix(e, "unix:"); ok && path != "" {
		return nil
	}
	host, port, err := net.SplitHostPort(e)
	if err != nil || host == "" {
		return fmt.Errorf(`endpoint %q is not "host:port" or "unix:/path"`, e)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("endpoint %q has port %q; ports are 1 to 65535", e, port)
	}
	return nil
}
