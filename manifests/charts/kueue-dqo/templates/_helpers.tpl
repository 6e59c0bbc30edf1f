{{/* Labels of an object. Takes a dict: root, component (none: of no daemon), instance (none: of no one of several). */}}
{{- define "kueue-dqo.labels" -}}
app.kubernetes.io/name: kueue-dqo
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- with .instance }}
app.kubernetes.io/instance: {{ . }}
{{- end }}
app.kubernetes.io/part-of: kueue-dqo
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{/* What tells the pods of a daemon from all others. */}}
{{- define "kueue-dqo.selector" -}}
app.kubernetes.io/name: kueue-dqo
app.kubernetes.io/component: {{ .component }}
{{- with .instance }}
app.kubernetes.io/instance: {{ . }}
{{- end }}
{{- end }}

{{- define "kueue-dqo.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* The metadata of a pod template. Takes a dict: root, component, instance, values (of the daemon). */}}
{{- define "kueue-dqo.podMetadata" -}}
labels:
  {{- include "kueue-dqo.selector" . | nindent 2 }}
  app.kubernetes.io/part-of: kueue-dqo
  {{- with mergeOverwrite (dict) (.root.Values.podLabels | default dict) (.values.podLabels | default dict) }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  kubectl.kubernetes.io/default-container: {{ .component }}
  {{- with mergeOverwrite (dict) (.root.Values.podAnnotations | default dict) (.values.podAnnotations | default dict) }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* The port of every daemon, and the probes that ask there. */}}
{{- define "kueue-dqo.probes" -}}
ports:
- name: http
  containerPort: 8080
# The first answer comes once Python has loaded everything, which takes long on a busy node.
startupProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 30
livenessProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: http}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end }}

{{- define "kueue-dqo.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
{{- with .supplementalGroups }}
supplementalGroups: {{ toYaml . | nindent 2 }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "kueue-dqo.restricted" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true # it writes no file, so it needs no volume either
capabilities:
  drop: [ALL]
{{- end }}

{{/* Everything of a daemon that elects a leader, but its ClusterRole's rules, which are given. Takes a dict: root,
     component, suffix, instance, args, env (a list), values (of the daemon), rules and leases (YAML). */}}
{{- define "kueue-dqo.daemon" -}}
{{- $root := .root }}
{{- $name := printf "kueue-dqo-%s%s" .component (.suffix | default "") }}
{{- $labels := include "kueue-dqo.labels" (dict "root" $root "component" .component "instance" .instance) }}
{{- $selector := include "kueue-dqo.selector" . }}
{{- $namespace := $root.Release.Namespace }}
{{- $replicas := .values.replicas | default $root.Values.replicas }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  namespace: {{ $namespace }}
  labels: {{ $labels | nindent 4 }}
  {{- with (.values.serviceAccount | default dict).annotations }}
  annotations: {{ toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false # the Deployment asks for it; any other pod that names this account gets no token
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}
  labels: {{ $labels | nindent 4 }}
rules:
{{ .rules | trim }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name }}
  labels: {{ $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $name }}
subjects:
- kind: ServiceAccount
  name: {{ $name }}
  namespace: {{ $namespace }}
---
# Events about objects without a namespace stand in the namespace default.
{{ include "kueue-dqo.role" (dict "labels" $labels "name" (printf "%s-events" $name) "namespace" "default" "account" $name "of" $namespace "rules" (include "kueue-dqo.events" .)) }}
---
{{ include "kueue-dqo.role" (dict "labels" $labels "name" (printf "%s-leases" $name) "namespace" $namespace "account" $name "of" $namespace "rules" .leases) }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ $namespace }}
  labels: {{ $labels | nindent 4 }}
spec:
  replicas: {{ $replicas }}
  revisionHistoryLimit: 3
  selector:
    matchLabels: {{ $selector | nindent 6 }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  template:
    metadata: {{ include "kueue-dqo.podMetadata" . | nindent 6 }}
    spec:
      serviceAccountName: {{ $name }}
      automountServiceAccountToken: true
      enableServiceLinks: false # no environment variables of other Services
      priorityClassName: {{ $root.Values.priorityClass.name }}
      terminationGracePeriodSeconds: 30 # the daemon gives itself 20 to finish its writes and hand the Lease over
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets: {{ toYaml . | nindent 6 }}
      {{- end }}
      nodeSelector:
        kubernetes.io/os: linux
        {{- with mergeOverwrite (dict) ($root.Values.nodeSelector | default dict) (.values.nodeSelector | default dict) }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .values.tolerations | default $root.Values.tolerations }}
      tolerations: {{ toYaml . | nindent 6 }}
      {{- end }}
      {{- with .values.affinity | default $root.Values.affinity }}
      affinity: {{ toYaml . | nindent 8 }}
      {{- else }}
      # Two nodes, two zones where there are; better both replicas on one node than one of them nowhere. The first is no
      # spread constraint: beside that for zones, the scheduler would look at it only where nodes have a zone.
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            podAffinityTerm:
              topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels: {{ $selector | nindent 18 }}
              matchLabelKeys: [pod-template-hash] # those of an older version are on their way out
      {{- end }}
      topologySpreadConstraints:
      - topologyKey: topology.kubernetes.io/zone
        maxSkew: 1
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels: {{ $selector | nindent 12 }}
        matchLabelKeys: [pod-template-hash]
      securityContext: {{ include "kueue-dqo.podSecurity" dict | nindent 8 }}
      containers:
      - name: {{ .component }}
        image: {{ include "kueue-dqo.image" $root }}
        imagePullPolicy: {{ $root.Values.image.pullPolicy }}
        args: {{ toYaml .args | nindent 8 }}
        env:
        {{- with .env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        - name: DQO_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        - name: DQO_IDENTITY
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        {{- with .values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- include "kueue-dqo.probes" . | nindent 8 }}
        resources: {{ toYaml .values.resources | nindent 10 }}
        securityContext: {{ include "kueue-dqo.restricted" . | nindent 10 }}
        {{- with .values.volumeMounts }}
        volumeMounts: {{ toYaml . | nindent 8 }}
        {{- end }}
      {{- with .values.volumes }}
      volumes: {{ toYaml . | nindent 6 }}
      {{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  namespace: {{ $namespace }}
  labels: {{ $labels | nindent 4 }}
spec:
  maxUnavailable: 1 # not minAvailable: with a single replica, that would hold up the drain of its node for ever
  unhealthyPodEvictionPolicy: AlwaysAllow # nor does a pod that never gets ready
  selector:
    matchLabels: {{ $selector | nindent 6 }}
---
# For Prometheus. Headless, since each replica has numbers of its own; those that are not ready too.
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}-metrics
  namespace: {{ $namespace }}
  labels: {{ $labels | nindent 4 }}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {{ $selector | nindent 4 }}
  ports:
  - name: metrics
    port: 8080
    targetPort: http
{{- end }}

{{/* A Role and its binding to one account. Takes a dict: labels, name, namespace, account, of (the account's namespace),
     rules (YAML). */}}
{{- define "kueue-dqo.role" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels: {{ .labels | nindent 4 }}
rules:
{{ .rules | trim }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels: {{ .labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: {{ .account }}
  namespace: {{ .of }}
{{- end }}

{{- define "kueue-dqo.events" -}}
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end }}
