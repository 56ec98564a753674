// Answers of Kubernetes' own ParseQuantity, for testdata/kubernetes/quantities.json:
//
//	cd tests/kubernetes_types && go run ./quantities < texts.json > ../../testdata/kubernetes/quantities.json
package main

import (
	"encoding/json"
	"os"

	"k8s.io/apimachinery/pkg/api/resource"
)

type answer struct {
	Text     string `json:"text"`
	Error    string `json:"error,omitempty"`
	Printed  string `json:"printed,omitempty"`
	Unscaled string `json:"unscaled,omitempty"`
	Power    int32  `json:"power,omitempty"`
}

func read(text string) answer {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return answer{Text: text, Error: err.Error()}
	}
	own := quantity.DeepCopy()
	number := quantity.AsDec()
	return answer{text, "", own.String(), number.UnscaledBig().String(), -int32(number.Scale())}
}

func main() {
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		panic(err)
	}
	answers := []answer{}
	for _, text := range texts {
		answers = append(answers, read(text))
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(answers); err != nil {
		panic(err)
	}
}
