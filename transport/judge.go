package transport

import (
	"bytes"
	"fmt"

	"github.com/valyala/fasthttp"
)

// Protocol is the version of the protocol between two processes: of the messages, including their envelope, and of the
// HTTP around them. A server refuses clients of another version.
const Protocol = "1"

const (
	requestPrefix = "/gofleet/"
	requestPath   = requestPrefix + Protocol
	contentType   = "application/x-gofleet" // a type that web pages may not send across origins unasked
	clusterHeader = "Gofleet-Cluster"
	// bytes of a head, and the server's memory for each connection that sends a request
	headRoom = 16 << 10
)

// refusal is why a request is not served.
type refusal struct {
	status int
	tally  *tally
	text   string
}

// probesGo says where probes are answered.
const probesGo = "; FLEET_HEALTH=:8080 answers probes at /livez, /readyz and /startupz of a port of their own"

// judge checks the header of a request before its body is read; nil admits it. The order protects information: a client
// that does not speak gofleet's protocol learns nothing; one without the token learns nothing of the cluster; only then
// come mistakes in the job's own configuration, each with a remedy.
func (l *listener) judge(h *fasthttp.RequestHeader, n int) *refusal {
	f, limit := l.f, l.f.MessageLimit()
	reads := isRead(h.RequestURI())
	if reads {
		limit = readRequest
	}
	switch {
	case !h.IsPost() || string(h.ContentType()) != contentType ||
		!bytes.HasPrefix(h.RequestURI(), []byte(requestPrefix)):
		text := "this is a gofleet server and answers its own clients only"
		if h.IsGet() || h.IsHead() {
			text += probesGo
		}
		return &refusal{fasthttp.StatusNotFound, &f.serves.stranger, text}
	case !l.admitsToken(h.Peek(fasthttp.HeaderAuthorization), reads):
		return &refusal{fasthttp.StatusUnauthorized, &f.serves.token, wrongToken(reads)}
	case string(h.RequestURI()) != requestPath && string(h.RequestURI()) != readPath:
		return &refusal{fasthttp.StatusUpgradeRequired, &f.serves.version, fmt.Sprintf("this server speaks version %s "+
			"of the protocol, the client %.20q; run the same gofleet on both sides", Protocol,
			h.RequestURI()[len(requestPrefix):])}
	case string(h.Peek(clusterHeader)) != f.Cluster:
		return &refusal{fasthttp.StatusMisdirectedRequest, &f.serves.cluster,
			fmt.Sprintf("this server belongs to cluster %q, the client to %.80q; "+
				"set the same FLEET_CLUSTER on both sides, or correct the list of servers", f.Cluster,
				h.Peek(clusterHeader))}
	case n < 0:
		return &refusal{fasthttp.StatusLengthRequired, &f.serves.stranger, "a request needs its length"}
	case n > limit:
		return &refusal{fasthttp.StatusRequestEntityTooLarge, &f.serves.tooLarge, oversize("request", n, limit).Error()}
	}
	return nil
}
