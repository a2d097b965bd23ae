/* Memory that is there or ends the process: nobody checks for NULL. */
#ifndef GS_MEM_H
#define GS_MEM_H

#include <stddef.h>

/* Each result is the caller's, to be given to free(3). */
void *gs_mem_new(size_t size);				 /* zeroed */
void *gs_mem_array(size_t num, size_t size);		 /* zeroed, num * size checked */
void *gs_mem_resize(void *ptr, size_t num, size_t size); /* takes ptr */
void *gs_mem_dup(const void *ptr, size_t len);		 /* a NUL behind the copy */
char *gs_mem_str(const char *text);

/*
 * Makes room for one more element behind num in an array of *cap elements.
 * Takes the array, returns it (moved perhaps); growth is geometric.
 */
void *gs_mem_more(void *ptr, size_t num, size_t *cap, size_t size);
/* Likewise, by a quarter: for what there are thousands of arrays of. */
void *gs_mem_more_tight(void *ptr, size_t num, size_t *cap, size_t size);

#endif
