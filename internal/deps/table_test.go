package deps_test

// module is this module's path; the tables leave it out.
const module = "github.com/gofleet/gofleet/"

// house says which packages of the module a package may import. "examples/..." is a row for all packages below. A name that
// ends in "..." allows all packages below it.
var house = map[string][]string{
	"optimizer/local":         {"internal/kernels", "internal/rules", "internal/table", "optimizer"},
	"optimizer/optimizertest": {"internal/rules", "optimizer"},
	"optimizer/weights":       {"internal/files", "internal/inference", "internal/kernels", "internal/modelfiles", "internal/safetensors", "optimizer"},

	"dataset":         {"internal/files", "internal/jsonobject", "internal/mistyped", "internal/panics", "internal/tokens", "internal/unpack"},
	"dataset/parquet": {"dataset", "internal/files", "internal/kernels", "internal/tokens"},

	"strategy":                         {"internal/files", "strategy/placement"},
	"strategy/placement":               {"internal/kernels"},
	"strategy/placement/placementtest": {"strategy/placement"},

	"transport":                 {"internal/certs", "internal/count", "internal/proc", "transport/codec"},
	"internal/count/counttest":  {"internal/count"},
	"internal/certs":            {"internal/files"},
	"transport/codec/codectest": {"transport/codec"},
	"transport/transporttest":   {"transport"},
	"internal/starter":          {"internal/tokens", "internal/unpack"},

	"internal/table":        {"internal/count", "internal/kernels", "internal/panics", "internal/rules", "optimizer"},
	"internal/mode":         {"internal/kernels", "optimizer", "strategy"},
	"internal/gradient":     {"internal/kernels", "internal/rules", "optimizer", "strategy"},
	"internal/wire":         {"internal/count", "internal/kernels", "internal/progress"},
	"internal/cut":          {"internal/progress", "internal/wire"},
	"internal/epoch":        {},
	"internal/bench":        {}, // it runs programs
	"internal/layout":       {"optimizer", "strategy/placement"},
	"internal/peer":         {"internal/wire", "transport"},
	"internal/collective":   {"internal/awake", "internal/kernels", "internal/peer", "internal/progress", "transport"},
	"internal/backend":      {"internal/checkpoint", "internal/count", "internal/epoch", "internal/progress", "internal/table", "optimizer"},
	"internal/inference":    {"internal/backend", "internal/files", "internal/modelfiles", "internal/narrow", "internal/progress", "internal/safetensors", "internal/table", "optimizer"},
	"internal/job":          {"internal/awake", "internal/backend", "internal/checkpoint", "internal/client", "internal/collective", "internal/epoch", "internal/gradient", "internal/layout", "internal/mode", "internal/proc", "internal/progress", "internal/replica", "internal/rules", "internal/server", "internal/solo", "internal/table", "optimizer", "rolemaker", "strategy", "strategy/placement", "transport", "transport/codec"},
	"internal/solo":         {"internal/backend", "internal/checkpoint", "internal/epoch", "internal/files", "internal/gradient", "internal/progress", "internal/table", "internal/wire", "optimizer", "optimizer/local", "strategy"},
	"internal/replica":      {"internal/backend", "internal/checkpoint", "internal/collective", "internal/epoch", "internal/gradient", "internal/layout", "internal/mode", "internal/progress", "internal/rules", "internal/solo", "internal/table", "internal/wire", "optimizer", "strategy"},
	"rolemaker":             {"internal/mistyped", "rolemaker/internal/rendezvous"},
	"internal/files":        {"fleet/store", "internal/awake"},
	"fleet/store/storetest": {"fleet/store"},
	"internal/runs":         {"internal/files"},
	"fleet/store/s3":        {"fleet/store"},
	"fleet/store/hadoop":    {"fleet/store"},
	"internal/modelfiles":   {"internal/files", "internal/narrow", "internal/safetensors"},
	"internal/narrow":       {"internal/kernels"},
	"internal/overlay":      {"internal/kernels", "internal/narrow"},
	"internal/journal":      {"internal/files"},
	"internal/checkpoint":   {"internal/awake", "internal/epoch", "internal/files", "internal/modelfiles", "internal/progress", "internal/rules", "internal/safetensors", "internal/table", "optimizer"},
	"internal/exchange":     {"internal/backend", "internal/count", "internal/gradient", "internal/kernels", "internal/layout", "internal/mode", "internal/peer", "internal/progress", "internal/wire", "optimizer", "strategy"},
	"internal/session":      {"internal/backend", "internal/exchange", "internal/gradient", "internal/kernels", "internal/layout", "internal/mode", "internal/peer", "internal/progress", "internal/rules", "internal/table", "internal/wire", "optimizer", "strategy"},
	"internal/client":       {"internal/awake", "internal/backend", "internal/checkpoint", "internal/count", "internal/cut", "internal/epoch", "internal/exchange", "internal/layout", "internal/mode", "internal/peer", "internal/progress", "internal/session", "internal/table", "internal/wire", "optimizer", "strategy", "transport"},
	"internal/update":       {"internal/gradient", "internal/layout", "internal/panics", "internal/rules", "internal/table", "optimizer", "strategy"},
	"internal/roster":       {"internal/mode", "internal/progress", "internal/wire"},
	"internal/server/state": {"internal/awake", "internal/cut", "internal/journal", "internal/layout", "internal/mode", "internal/peer", "internal/progress", "internal/roster", "internal/table", "internal/update", "internal/wire", "optimizer", "strategy", "transport"},
	"internal/server":       {"internal/awake", "internal/checkpoint", "internal/count", "internal/cut", "internal/epoch", "internal/files", "internal/gradient", "internal/journal", "internal/kernels", "internal/layout", "internal/mode", "internal/peer", "internal/proc", "internal/progress", "internal/roster", "internal/rules", "internal/server/state", "internal/table", "internal/update", "internal/wire", "optimizer", "strategy", "transport"},

	"nn": {"dataset", "internal/histogram", "internal/kernels", "internal/mistyped", "internal/modelfiles", "optimizer"},

	"nn/serve":  {"dataset", "internal/jsonobject", "internal/kernels", "internal/modelfiles", "internal/overlay", "nn", "optimizer"},
	"nn/nntest": {"nn", "nn/serve", "optimizer", "optimizer/weights"},
	"nn/onnx":   {"dataset", "internal/files", "internal/protowire", "nn", "nn/serve", "optimizer"},

	"fleet": {"fleet/stats", "internal/backend", "internal/checkpoint", "internal/count", "internal/epoch", "internal/exchange", "internal/inference", "internal/job", "internal/mode", "internal/observe", "internal/peer", "internal/proc", "internal/progress", "internal/rules", "internal/server", "internal/table", "optimizer", "optimizer/weights", "rolemaker", "strategy", "strategy/placement", "transport"},
	"fleet/fleetrun": {"internal/certs", "internal/checkpoint", "internal/files", "internal/mistyped", "internal/observe", "internal/peer", "internal/proc", "internal/progress", "internal/runs", "internal/starter", "internal/ui", "internal/wire", "rolemaker",
		"transport", "transport/codec"},
	"internal/chaos":               {"fleet", "fleet/checkpoints", "internal/awake", "internal/proc", "optimizer", "strategy"},
	"fleet/metrics":                {"fleet", "internal/histogram"},
	"fleet/stats":                  {"internal/count", "transport"},
	"fleet/checkpoints":            {"fleet", "internal/checkpoint", "internal/progress"},
	"fleet/paddle":                 {"dataset", "fleet", "fleet/stats", "strategy"},
	"fleet/train":                  {"dataset", "fleet", "fleet/checkpoints", "fleet/stats", "fleet/store", "fleet/train/internal/board", "fleet/train/internal/check", "fleet/train/internal/verdict", "internal/awake", "internal/checkpoint", "internal/epoch", "internal/files", "internal/kernels", "internal/mistyped", "internal/mode", "internal/modelfiles", "internal/observe", "internal/rules", "internal/runs", "nn", "nn/serve", "optimizer", "optimizer/local", "optimizer/lr", "rolemaker", "strategy", "transport"},
	"fleet/train/internal/board":   {"internal/files", "internal/protowire", "nn", "optimizer/weights"},
	"fleet/train/internal/check":   {"dataset", "internal/rules", "internal/tokens", "nn", "optimizer", "optimizer/local"},
	"fleet/train/internal/verdict": {"internal/histogram", "nn"},
	"fleet/reader":                 {"internal/kernels", "internal/peer", "internal/wire", "transport", "transport/codec"},
	"fleet/fleettest":              {"fleet", "rolemaker", "transport"},
	"fleet/internal/jobs":          {"dataset", "fleet", "fleet/internal/trial", "fleet/internal/twin", "fleet/train", "internal/epoch", "internal/modelfiles", "nn", "nn/serve", "optimizer", "optimizer/lr", "rolemaker", "strategy", "transport"},
	"fleet/internal/trial":         {"fleet", "fleet/fleettest", "fleet/stats", "internal/checkpoint", "internal/law", "internal/modelfiles", "internal/roster", "internal/safetensors", "internal/wire", "nn", "nn/serve", "optimizer", "optimizer/lr", "rolemaker", "strategy", "strategy/placement", "transport", "transport/transporttest"},

	"fleet/internal/twin": {"dataset", "fleet", "fleet/internal/trial", "fleet/store", "fleet/store/storetest", "internal/checkpoint", "internal/wire", "nn", "nn/serve", "optimizer", "optimizer/lr", "rolemaker", "strategy", "transport"},

	"examples/...":                {"examples/...", "dataset", "fleet", "fleet/train", "nn", "nn/onnx", "nn/serve", "optimizer", "optimizer/weights", "strategy"},
	"examples/internal/jobtest":   {"dataset", "fleet", "fleet/fleettest", "fleet/train", "internal/law", "strategy"},
	"examples/internal/torchtest": {"dataset", "dataset", "examples/internal/jobtest", "fleet", "fleet/fleettest", "fleet/train", "nn", "optimizer", "optimizer/weights"},
	"internal/rules":              {"optimizer"},
	"optimizer":                   {"internal/kernels", "optimizer/lr"},
	"internal/ui":                 {"fleet/stats", "internal/observe"},
	"internal/observe":            {"fleet/stats", "internal/awake", "internal/count", "internal/mistyped"},
}

// houseTests says what test files may import besides their package's own row, the package itself and the exams.
var houseTests = map[string][]string{
	"fleet/store/s3":          {"fleet/store/storetest"},
	"fleet/store/hadoop":      {"fleet/checkpoints", "fleet/internal/trial", "fleet/store/storetest", "strategy"},
	"dataset":                 {"nn", "optimizer", "optimizer/local"},
	"nn":                      {"optimizer/local"},
	"nn/serve":                {"internal/safetensors"},
	"nn/onnx":                 {"optimizer/weights"},
	"optimizer":               {"internal/rules", "optimizer/local"},
	"optimizer/local":         {"nn", "optimizer/lr"},
	"optimizer/weights":       {"fleet", "fleet/fleettest", "nn", "nn/serve", "strategy"},
	"internal/client":         {"internal/gradient", "internal/kernels", "internal/server", "optimizer/lr", "strategy/placement"},
	"internal/exchange":       {"strategy/placement"},
	"internal/layout":         {"optimizer/lr"},
	"internal/replica":        {"transport"},
	"internal/session":        {"strategy/placement"},
	"internal/cut":            {"internal/script"},
	"internal/epoch":          {"internal/script"},
	"internal/mode":           {"internal/script"},
	"internal/roster":         {"internal/script"},
	"internal/safetensors":    {"internal/files"},
	"examples/wide_and_deep":  {"fleet/stats", "optimizer/local", "transport"},
	"internal/checkpoint":     {"fleet/store", "fleet/store/storetest"},
	"fleet/fleetrun":          {"fleet/internal/trial", "internal/modelfiles", "internal/porttest", "internal/table", "optimizer"},
	"fleet":                   {"dataset", "fleet/checkpoints", "fleet/internal/trial", "fleet/reader", "fleet/store", "internal/count/counttest", "internal/files", "internal/mistyped", "internal/safetensors", "internal/ui", "internal/wire", "nn", "nn/serve", "optimizer/local", "optimizer/lr"},
	"fleet/fleettest":         {"dataset", "fleet/train", "nn", "optimizer"},
	"fleet/reader":            {"fleet", "fleet/fleettest", "fleet/internal/trial", "internal/porttest", "optimizer", "rolemaker", "strategy"},
	"fleet/paddle":            {"fleet/fleettest", "nn", "optimizer", "rolemaker"},
	"fleet/metrics":           {"nn", "optimizer", "rolemaker", "strategy"},
	"fleet/train":             {"fleet/fleettest", "fleet/internal/trial", "internal/porttest", "optimizer/weights", "strategy/placement"},
	"transport":               {"internal/count/counttest"},
	"transport/transporttest": {"transport/codec"},
	"internal/rules":          {"optimizer/lr"},
	"internal/table":          {"optimizer/lr"},
	"optimizer/lr":            {"optimizer"},
	"optimizer/optimizertest": {"optimizer/lr"},
	"fleet/stats":             {"internal/server"},
}

// outside says which other modules a package may use. A package without a row has the standard library alone.
var outside = map[string][]string{
	"fleet/store/s3":               {"github.com/aws/aws-sdk-go-v2"},
	"dataset":                      {"gorgonia.org/tensor"},
	"internal/unpack":              {"github.com/klauspost/compress"},
	"dataset/parquet":              {"github.com/parquet-go/parquet-go", "gorgonia.org/tensor"},
	"optimizer":                    {"golang.org/x/sys"},
	"nn":                           {"go4.org/unsafe/assume-no-moving-gc", "golang.org/x/term", "gorgonia.org/tensor"},
	"nn/nntest":                    {"gorgonia.org/tensor"},
	"nn/serve":                     {"gorgonia.org/tensor"},
	"transport":                    {"github.com/valyala/fasthttp"},
	"transport/codec":              {"github.com/klauspost/compress"},
	"internal/files":               {"github.com/cespare/xxhash/v2"},
	"internal/kernels":             {"golang.org/x/sys"},
	"fleet/fleetrun":               {"golang.org/x/term"},
	"fleet/train":                  {"gorgonia.org/tensor"},
	"fleet/train/internal/check":   {"gorgonia.org/tensor"},
	"fleet/train/internal/verdict": {"gorgonia.org/tensor"},
	"fleet/internal/trial":         {"gorgonia.org/tensor"},
	"fleet/internal/twin":          {"gorgonia.org/tensor"},
	"examples/...":                 {"gorgonia.org/tensor"},
}

// outsideTests may be used by every test file.
var outsideTests = []string{
	"github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "golang.org/x/sys", "gorgonia.org/tensor", "pgregory.net/rapid",
}

// outsideTestsOf may be used by the test files of one package: fasthttp is the figure that a whole call is compared with, protobuf a
// decoder that shares no code with what is written, and compress what packs files.
var outsideTestsOf = map[string][]string{"dataset": {"github.com/klauspost/compress"}, "internal/client": {"github.com/valyala/fasthttp"}, "nn/onnx": {"google.golang.org/protobuf"}}
