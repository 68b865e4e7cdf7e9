// Package placement decides which part of which variable lives on which server.
//
// Large variables are cut into blocks ([Slice]) so that no server carries a model alone, and a [Policy] gives every
// block a server: [RoundRobin] deals them out in turn, [HashName] goes by the block's name, [Balanced] by its size, and
// your own policy takes three lines. The result is a [Plan], a pure function of its input: every process of a job
// computes it for itself and all arrive at the same one.
//
//	vars := []placement.Variable{
//		{Name: "fc.w", Shape: []int{784, 128}},
//		{Name: "fc.b", Shape: []int{128}},
//		{Name: "user", Shape: []int{0, 16}, Open: true},
//	}
//	plan, err := placement.New(vars, 2, placement.Options{})
//	fmt.Print(plan) // a table: block, elements, bytes, server
//	for _, b := range plan.BlocksOf(0) {
//		fmt.Println(b.Name, b.Offset, b.Size, b.Server)
//	}
//
// Three kinds of variable exist. An ordinary one is cut and placed. A Whole one is placed but never cut: its update
// rule needs all of it at once (a norm over the variable). An Open one is an embedding that takes any uint64 as an id;
// it has no blocks, its rows are spread over all servers by a hash of the id.
//
// Test your own Policy with package placementtest.
package placement
