/* Memory that is there or ends the process: nobody checks for NULL. */
#include "mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 8 /* elements of an array that begins to grow */

static _Noreturn void
die(void)
{
	static const char text[] = "grasp-sync: out of memory\n";

	(void)fwrite(text, 1, sizeof(text) - 1, stderr);
	abort();
}

void *
gs_mem_new(size_t size)
{
	return gs_mem_array(1, size);
}

void *
gs_mem_array(size_t num, size_t size)
{
	void *ptr = calloc(num ? num : 1, size ? size : 1);

	if (ptr == NULL)
		die();
	return ptr;
}

void *
gs_mem_resize(void *ptr, size_t num, size_t size)
{
	void *bigger;

	if (size != 0 && num > SIZE_MAX / size)
		die();
	bigger = realloc(ptr, num != 0 && size != 0 ? num * size : 1);
	if (bigger == NULL)
		die();
	return bigger;
}

void *
gs_mem_dup(const void *ptr, size_t len)
{
	char *copy = gs_mem_resize(NULL, len + 1, 1);

	if (len != 0)
		memcpy(copy, ptr, len);
	copy[len] = '\0';
	return copy;
}

char *
gs_mem_str(const char *text)
{
	return gs_mem_dup(text, strlen(text));
}

void *
gs_mem_more(void *ptr, size_t num, size_t *cap, size_t size)
{
	if (num < *cap)
		return ptr;
	*cap = *cap ? *cap * 2 : FIRST_CAP;
	return gs_mem_resize(ptr, *cap, size);
}

void *
gs_mem_more_tight(void *ptr, size_t num, size_t *cap, size_t size)
{
	if (num < *cap)
		return ptr;
	*cap += *cap / 4 + FIRST_CAP;
	return gs_mem_resize(ptr, *cap, size);
}
