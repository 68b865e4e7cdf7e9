package rendezvous

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// This file implements version 1 of PMI, the protocol between an MPI process and MPICH's or Intel MPI's process
// manager: lines of "cmd=name key=value ...", with one reply to each. The manager keeps a key-value space for the job:
// each rank puts its value, waits at a barrier, and gets the values of the others.

// maxPMILine bounds a reply; values are at most 1024 bytes long by the protocol.
const maxPMILine = 4096

// openPMI returns the connection that the process manager has left open.
func openPMI(number string) (net.Conn, error) {
	fd, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return nil, fmt.Errorf("PMI_FD is %q; it must be a number", number)
	case fd < 0:
		return nil, fmt.Errorf("PMI_FD is %d", fd)
	}
	f := os.NewFile(uintptr(fd), "PMI_FD")
	if f == nil {
		return nil, fmt.Errorf("PMI_FD is %d, which is not an open file", fd)
	}
	defer f.Close() // FileConn duplicates it
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("PMI_FD is %d, which is not a connection to a process manager: %w; set %s", fd, err,
			Variable)
	}
	return conn, nil
}

// exchangePMI returns the endpoints of all ranks. own is this rank's, "" if it has none.
func (p Process) exchangePMI(ctx context.Context, conn net.Conn, own string) ([]string, error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	manager := &pmi{Process: p, conn: conn, lines: bufio.NewReaderSize(conn, maxPMILine)}
	endpoints, err := manager.exchange(own)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w; some rank has not come: %w", context.Cause(ctx), err)
	}
	if err != nil {
		return nil, fmt.Errorf("rendezvous through the process manager (PMI_FD): %w", err)
	}
	return endpoints, nil
}

// pmi is a rank's connection to the process manager.
type pmi struct {
	Process
	conn  net.Conn
	lines *bufio.Reader
}

func (p *pmi) exchange(own string) ([]string, error) {
	if _, err := p.ask("init", "response_to_init", "pmi_version", "1", "pmi_subversion", "1"); err != nil {
		return nil, err
	}
	space, err := p.ask("get_my_kvsname", "my_kvsname")
	if err != nil {
		return nil, err
	}
	name := space["kvsname"]
	put := cmp.Or(own, pmiNone)
	if _, err := p.ask("put", "put_result", "kvsname", name, "key", pmiKey(p.Rank), "value", put); err != nil {
		return nil, err
	}
	if _, err := p.ask("barrier_in", "barrier_out"); err != nil {
		return nil, err
	}
	endpoints, err := p.collect(name)
	if err != nil {
		return nil, err
	}
	_, err = p.ask("finalize", "finalize_ack")
	return endpoints, err
}

// collect gets the values of all ranks.
func (p *pmi) collect(space string) ([]string, error) {
	endpoints := make([]string, p.Size)
	for rank := range p.Size {
		reply, err := p.ask("get", "get_result", "kvsname", space, "key", pmiKey(rank))
		if err != nil {
			return nil, fmt.Errorf("endpoint of rank %d: %w", rank, err)
		}
		if reply["value"] != pmiNone {
			endpoints[rank] = reply["value"]
		}
	}
	return endpoints, nil
}

// pmiNone is the value of a rank without an endpoint, since a value can't be empty.
const pmiNone = "-"

func pmiKey(rank int) string { return "gofleet-" + strconv.Itoa(rank) }

// ask sends a command and reads its reply, which must be of that kind.
func (p *pmi) ask(command, reply string, arguments ...string) (map[string]string, error) {
	line := "cmd=" + command
	for i := 0; i < len(arguments); i += 2 {
		line += " " + arguments[i] + "=" + arguments[i+1]
	}
	if _, err := p.conn.Write([]byte(line + "\n")); err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	answer, err := p.lines.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("no answer to %s: %w", command, err)
	}
	values, err := parsePMI(string(answer))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", command, err)
	case values["cmd"] != reply:
		return nil, fmt.Errorf("%s is answered by %q, not by %s", command, values["cmd"], reply)
	case values["rc"] != "" && values["rc"] != "0":
		return nil, fmt.Errorf("%s failed: rc=%s %s", command, values["rc"], values["msg"])
	}
	return values, nil
}

// parsePMI splits a line into keys and values, which contain no spaces.
func parsePMI(line string) (map[string]string, error) {
	values := map[string]string{}
	for _, word := range strings.Fields(line) {
		key, value, ok := strings.Cut(word, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%q of line %q is not key=value", word, line)
		}
		if _, twice := values[key]; twice {
			return nil, fmt.Errorf("line %q has %s twice", line, key)
		}
		values[key] = value
	}
	if values["cmd"] == "" {
		return nil, errors.New("a line without cmd")
	}
	return values, nil
}
