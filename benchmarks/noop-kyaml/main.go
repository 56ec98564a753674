// Command noop-kyaml is the measuring stick of the benchmark: a KRM function on kyaml's own framework that reads a
// ResourceList, changes nothing and writes it back. Whatever it costs is what any Go function pays before it does work.
package main

import (
	"os"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/fn/framework/command"
)

func main() {
	nothing := framework.ResourceListProcessorFunc(func(*framework.ResourceList) error { return nil })
	cmd := command.Build(nothing, command.StandaloneDisabled, false)
	if err := cmd.Execute(); err != nil {
		os.Exit(1)
	}
}
