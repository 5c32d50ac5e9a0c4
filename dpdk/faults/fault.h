/* Which call fails. */
#ifndef GOROCE_FAULTS_FAULT_H
#define GOROCE_FAULTS_FAULT_H

/* The n-th call from now on fails, if one of that name or, with "", any. */
void gr_fault_arm(unsigned n, const char *name);

/* The name of the call that failed since gr_fault_arm, or NULL. */
const char *gr_fault_disarm(void);

/* Counts a call, and reports whether it fails. */
int gr_fault(const char *name);

/* The function of that name that would be called without this package. */
void *gr_fault_real(const char *name);

/* Defines a function in front of the one of the same name. What fails runs "failure". */
#define GR_FAULT(type, name, parameters, arguments, failure) \
	type name parameters                                 \
	{                                                    \
		static type(*real) parameters;               \
		if (gr_fault(#name)) {                       \
			failure;                             \
		}                                            \
		if (real == NULL)                            \
			real = gr_fault_real(#name);         \
		return real arguments;                       \
	}

#endif
