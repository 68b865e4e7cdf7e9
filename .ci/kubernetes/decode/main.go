// Command decode reads manifests whose controllers can't be had, strictly, by the types of their own APIs: a field that
// there is not, or of another kind, is an error.
package main

import (
	"fmt"
	"os"
	"strings"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"
	volcano "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

func main() {
	for _, name := range os.Args[1:] {
		if err := decode(name); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
		fmt.Println("decoded, not run:", name)
	}
}

func decode(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var is struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(text, &is); err != nil {
		return err
	}
	types := map[string]any{"jobset.x-k8s.io/v1alpha2 JobSet": new(jobset.JobSet), "batch.volcano.sh/v1alpha1 Job": new(volcano.Job)}
	into := types[is.APIVersion+" "+is.Kind]
	if into == nil || strings.Contains(string(text), "\n---\n") {
		return fmt.Errorf("no type is known for it: %+v", is)
	}
	return yaml.UnmarshalStrict(text, into)
}
