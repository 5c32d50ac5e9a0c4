package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Digest returns 12 hexadecimal digits that identify the records of tasks, with their cells and
// seeds.
func Digest(tasks []Done) (string, error) {
	h := sha256.New()
	for _, d := range tasks {
		text, err := json.Marshal(d.Record)
		if err != nil {
			return "", fmt.Errorf("experiment: digest of %s: %w", d.Cell.Name, err)
		}
		fmt.Fprintf(h, "%s\n%d\n%s\n", d.Cell.Name, d.Seed, text)
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}
