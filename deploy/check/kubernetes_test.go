package check

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

func build(t *testing.T, dir string) resmap.ResMap {
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	require.NoError(t, err, dir)
	return all
}

// decode decodes an object into the type of its kind, without unknown fields, and returns its pods.
func decode(t *testing.T, kind string, text []byte) *corev1.PodSpec {
	var object any
	pods := func() *corev1.PodSpec { return nil }
	switch kind {
	case "Namespace":
		object = &corev1.Namespace{}
	case "PersistentVolumeClaim":
		object = &corev1.PersistentVolumeClaim{}
	case "Service":
		object = &corev1.Service{}
	case "Job":
		job := &batchv1.Job{}
		object, pods = job, func() *corev1.PodSpec { return &job.Spec.Template.Spec }
	case "DaemonSet":
		set := &appsv1.DaemonSet{}
		object, pods = set, func() *corev1.PodSpec {
			assert.Equal(t, set.Spec.Selector.MatchLabels, set.Spec.Template.Labels)
			return &set.Spec.Template.Spec
		}
	default:
		t.Fatalf("no type for kind %s", kind)
	}
	require.NoError(t, yaml.UnmarshalStrict(text, object), "%s", text)
	return pods()
}

// checkPod checks what the Pod Security Standard "restricted" demands of containers, and that each
// mount has a volume.
func checkPod(t *testing.T, p *corev1.PodSpec) {
	require.NotNil(t, p.SecurityContext.RunAsNonRoot)
	assert.True(t, *p.SecurityContext.RunAsNonRoot)
	assert.False(t, p.HostNetwork || p.HostPID || p.HostIPC)
	assert.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, p.SecurityContext.SeccompProfile.Type)
	volumes := map[string]bool{}
	for _, v := range p.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range p.Containers {
		s := c.SecurityContext
		assert.False(t, *s.AllowPrivilegeEscalation)
		assert.True(t, *s.ReadOnlyRootFilesystem)
		assert.Equal(t, []corev1.Capability{"ALL"}, s.Capabilities.Drop)
		assert.Empty(t, s.Capabilities.Add)
		assert.Nil(t, s.Privileged)
		assert.Equal(t, *c.Resources.Requests.Cpu(), *c.Resources.Limits.Cpu(), "it polls")
		for _, m := range c.VolumeMounts {
			assert.True(t, volumes[m.Name], "volume %s", m.Name)
		}
	}
}

func TestKubernetes(t *testing.T) {
	for dir, want := range map[string][]string{
		"../kubernetes": {"Namespace", "PersistentVolumeClaim", "Service", "DaemonSet", "Job",
			"Job"},
		"../kubernetes/benchmark": {"PersistentVolumeClaim", "Service", "Job", "Job"},
		"../kubernetes/daemon":    {"DaemonSet"},
		"../kubernetes/hugepages": {"DaemonSet"},
	} {
		var kinds []string
		for _, r := range build(t, dir).Resources() {
			text, err := r.AsYAML()
			require.NoError(t, err)
			kinds = append(kinds, r.GetKind())
			if p := decode(t, r.GetKind(), text); p != nil {
				checkPod(t, p)
			}
		}
		assert.ElementsMatch(t, want, kinds, dir)
	}
}

// The daemon has hugepages in that kustomization alone.
func TestHugepagesAreOptional(t *testing.T) {
	for dir, want := range map[string]string{"daemon": "0", "hugepages": "512Mi"} {
		text, err := build(t, "../kubernetes/"+dir).Resources()[0].AsYAML()
		require.NoError(t, err)
		limits := decode(t, "DaemonSet", text).Containers[0].Resources.Limits
		n := limits["hugepages-2Mi"]
		assert.Equal(t, want, n.String(), dir)
	}
}

// The client of the benchmark finds the server.
func TestBenchmarkPair(t *testing.T) {
	pods, service := map[string]*corev1.PodSpec{}, corev1.Service{}
	for _, r := range build(t, "../kubernetes/benchmark").Resources() {
		text, err := r.AsYAML()
		require.NoError(t, err)
		if p := decode(t, r.GetKind(), text); p != nil {
			pods[r.GetName()] = p
		}
		if r.GetKind() == "Service" {
			require.NoError(t, yaml.UnmarshalStrict(text, &service))
		}
	}
	client, server := pods["goroce-client"].Containers[0], pods["goroce-server"].Containers[0]
	assert.Contains(t, client.Args, service.Name)
	assert.Equal(t, server.Args[1]+",client", client.Args[1])
	assert.Equal(t, service.Spec.Ports[0].Port, server.Ports[0].ContainerPort)
	affinity := pods["goroce-client"].Affinity.PodAffinity
	assert.Equal(t, service.Spec.Selector,
		affinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector.MatchLabels)
}
