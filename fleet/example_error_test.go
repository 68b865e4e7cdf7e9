package fleet_test

import (
	"context"
	"errors"
	"log"

	"github.com/gofleet/gofleet/fleet"
)

// A program says which machine a failure is about.
func ExampleError() {
	ctx := context.Background()
	f, err := fleet.Init(nil)
	if err != nil {
		log.Fatal(err)
	}
	err = f.BarrierWorker(ctx)
	var about *fleet.Error
	switch {
	case errors.Is(err, fleet.ErrWentBack):
		log.Print("the job goes back to its last checkpoint: ", err)
	case errors.As(err, &about):
		log.Printf("look at %s %d on %s, which waits %q", about.Role, about.Index, about.Endpoint, about.Awaits)
	}
}
