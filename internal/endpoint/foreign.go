package endpoint

// ForeignMemory is memory of another process, which this one reaches only by copying. Read and
// Write copy between p and the memory at an offset. They report whether all of it could be
// accessed.
type ForeignMemory interface {
	Size() uint64
	Read(p []byte, offset uint64) bool
	Write(p []byte, offset uint64) bool
}
