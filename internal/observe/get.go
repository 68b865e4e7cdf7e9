package observe

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Get requests a path from a port of [Serve], with a bearer token if it is not empty, and returns its body, of at most
// limit bytes. Any status but 200 is an error.
func Get(ctx context.Context, addr, path, token string, limit int64) ([]byte, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if token != "" {
		token = "Authorization: Bearer " + token + "\r\n"
	}
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, token); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(c, limit+longest))
	head, body, whole := strings.Cut(string(text), "\r\n\r\n")
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case whole && !strings.HasPrefix(head, "HTTP/1.1 "+strconv.Itoa(http.StatusOK)):
		return nil, fmt.Errorf("%s: %s", path, strings.TrimSpace(body))
	case !whole || int64(len(body)) > limit:
		return nil, fmt.Errorf("the answer to %s is cut off, or longer than %d bytes", path, limit)
	}
	return []byte(body), nil
}
