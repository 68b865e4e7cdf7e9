package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/gofleet/gofleet/internal/mistyped"
	"github.com/gofleet/gofleet/internal/ui"
)

const watchUsage = "Usage: fleetrun watch [--ui ADDRESS] HOST:PORT...\n\n" +
	"Shows a job that fleetrun has not started on a page: the processes whose FLEET_METRICS are at each HOST:PORT.\n" +
	"A name with several addresses, as that of a headless Service, stands for all of them. Processes on other\n" +
	"machines need the FLEET_UI_TOKEN that fleetrun watch has. ADDRESS is where the page is, :8900 without it.\n"

// runWatch is "fleetrun watch".
func runWatch(args []string, con *console) error {
	f := flag.NewFlagSet("fleetrun watch", flag.ContinueOnError)
	addr := f.String("ui", ":8900", "address of the page")
	err := mistyped.Parse(f, args, nil)
	if err == nil && f.NArg() == 0 {
		err = errors.New("name the addresses of FLEET_METRICS: fleetrun watch :9100 10.0.0.7:9100")
	}
	for _, at := range f.Args() {
		if err == nil && ui.Near(at) == "" {
			err = fmt.Errorf("%q is not an address: want HOST:PORT, such as :9100 or ps-0.svc:9100", at)
		}
	}
	if err != nil {
		return err
	}
	signals, uncatch := catchSignals()
	defer uncatch()
	w := &ui.Watch{Ask: asker(os.Getenv(uiTokenVar)),
		Find: func(ctx context.Context) []string { return addresses(ctx, f.Args()) }}
	closePage, err := con.servePage(*addr, pageToken(), w.Look)
	if err != nil {
		return failed{err}
	}
	defer closePage()
	return status(interrupted{<-signals}.exitCode())
}

// addresses are all addresses of processes. A name that can't be looked up stands for itself: the page says why.
func addresses(ctx context.Context, of []string) (all []string) {
	for _, at := range of {
		host, port, _ := net.SplitHostPort(ui.Near(at))
		found, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			found = []string{host}
		}
		for _, ip := range found {
			all = append(all, net.JoinHostPort(ip, port))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
