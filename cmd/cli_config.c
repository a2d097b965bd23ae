/*
 * Settings of a daemon from four places: flags, then GRASP_SYNC_* in the environment,
 * then "key = value" lines of a file, then defaults.  A key is an option's long name.
 */
#include "cli_config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "mem.h"

#define PREFIX "GRASP_SYNC_"
#define FILE_BYTES ((size_t)64 << 10) /* long lists have files of their own */
#define SHOWN_BYTES 60		      /* of a variable's name */
#define BLANKS " \t\r\n"

/* Settings as they are found, of all places. */
struct found {
	struct cli_config *config;
	struct cli_setting *settings;
	size_t num, cap;
};

/* --- options --- */

static const struct cli_option *
option_of(const struct cli_config *config, int option)
{
	return &config->cli->options[option];
}

static bool
is_listed(const char *const *names, const char *name)
{
	for (; names != NULL && *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static bool
may_repeat(const struct cli_config *config, int option)
{
	return is_listed(config->repeats, option_of(config, option)->name);
}

/* They say what to do with the settings. */
static bool
is_flag_only(const struct cli_config *config, const char *name)
{
	static const char *const names[] = { "print-config", "check-config", NULL };

	return strcmp(name, config->file_option) == 0 || is_listed(names, name);
}

/* Its index, or -1. */
static int
find_key(const struct cli_config *config, struct gs_str key)
{
	const struct cli_option *options = config->cli->options;

	for (int i = 0; options[i].name != NULL; i++)
		if (gs_str_is(key, options[i].name))
			return is_flag_only(config, options[i].name) ? -1 : i;
	return -1;
}

/* --- finding --- */

/* One copy of each text, so that reading again and again does not grow. */
static const char *
keep(struct cli_config *config, struct gs_str text)
{
	return gs_map_add(config->texts, text)->key.ptr;
}

static void
add(struct found *found, struct cli_setting setting)
{
	found->settings = gs_mem_more(found->settings, found->num, &found->cap,
	    sizeof(*found->settings));
	found->settings[found->num++] = setting;
}

/*
 * Adds what a file or the environment says; NULL, or why not.  An option without
 * argument that is off has a value until settings are chosen.
 */
static const char *
add_text(struct found *found, struct cli_setting setting, struct gs_str value)
{
	const struct cli_option *option = option_of(found->config, setting.option);

	if (!gs_config_is_value(value))
		return "a control byte in its value";
	setting.value = keep(found->config, value);
	if (option->arg == NULL && gs_str_is(value, "true"))
		setting.value = NULL;
	else if (option->arg == NULL && !gs_str_is(value, "false"))
		return "neither true nor false";
	add(found, setting);
	return NULL;
}

/* Where it stands in the file already, or NULL. */
static const char *
find_in_file(const struct found *found, int option)
{
	for (size_t i = 0; i < found->num; i++)
		if (found->settings[i].option == option &&
		    found->settings[i].place == CLI_FILE)
			return found->settings[i].where;
	return NULL;
}

static bool
take_line(struct found *found, const struct gs_config *line, struct gs_err *err)
{
	struct cli_setting setting = { .option = find_key(found->config, line->key),
		.place = CLI_FILE };
	struct gs_buf where = GS_BUF_INIT;
	const char *before, *why;

	if (setting.option < 0)
		return gs_config_fail(line, err, "no such setting");
	before = find_in_file(found, setting.option);
	if (before != NULL && !may_repeat(found->config, setting.option))
		return gs_config_fail(line, err, "given before, at %s", before);
	gs_buf_printf(&where, "%s:%u", line->path, line->line);
	setting.where = keep(found->config, (struct gs_str){ where.data, where.len });
	gs_buf_fini(&where);
	why = add_text(found, setting, line->value);
	return why == NULL || gs_config_fail(line, err, "%s", why);
}

static bool
take_file(struct found *found, const char *path, struct gs_err *err)
{
	enum gs_config_result result = GS_CONFIG_BAD;
	struct gs_buf text = GS_BUF_INIT;
	struct gs_config line;

	if (strcmp(path, "-") == 0)
		return gs_fail(err, GS_ECONFIG, "--%s -: needs a file, to read it again",
		    found->config->file_option);
	if (gs_file_read(&text, path, FILE_BYTES, err)) {
		gs_config_init(&line, path, (struct gs_str){ text.data, text.len });
		do
			result = gs_config_next(&line, err);
		while (result == GS_CONFIG_VALUE && take_line(found, &line, err));
	} else if (err != NULL) {
		err->code = GS_ECONFIG;
	}
	gs_buf_fini(&text);
	return result == GS_CONFIG_END;
}

/* The option that GRASP_SYNC_OWN_RELAY stands for; -1: none. */
static int
find_variable(const struct cli_config *config, struct gs_str name)
{
	struct gs_buf key = GS_BUF_INIT;
	int option;

	for (size_t i = strlen(PREFIX); i < name.len; i++) {
		char c = name.ptr[i];

		/* Only as it should be written. */
		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		else if (c == '_')
			c = '-';
		else if (c < '0' || c > '9')
			c = '?';
		gs_buf_add_char(&key, c);
	}
	option = find_key(config, (struct gs_str){ key.data, key.len });
	gs_buf_fini(&key);
	return option;
}

static const char *
add_words(struct found *found, struct cli_setting setting, const char *words)
{
	const char *why = NULL;

	words += strspn(words, BLANKS);
	while (*words != '\0' && why == NULL) {
		size_t len = strcspn(words, BLANKS);

		why = add_text(found, setting, (struct gs_str){ words, len });
		words += len;
		words += strspn(words, BLANKS);
	}
	return why;
}

static bool
take_variable(struct found *found, const char *variable, struct gs_err *err)
{
	const char *value = variable + strcspn(variable, "=");
	struct gs_str name = { variable, (size_t)(value - variable) };
	struct cli_setting setting = { .option = find_variable(found->config, name),
		.place = CLI_ENVIRONMENT };
	struct gs_buf shown = GS_BUF_INIT;
	const char *why = NULL;

	value += *value == '=';
	setting.where = keep(found->config, name);
	if (setting.option < 0)
		why = "no such setting";
	else if (value[strspn(value, BLANKS)] == '\0')
		why = "needs a value";
	else if (may_repeat(found->config, setting.option))
		why = add_words(found, setting, value);
	else
		why = add_text(found, setting, gs_str_of(value));
	if (why == NULL)
		return true;
	gs_buf_add_shown(&shown, name.ptr, name.len, SHOWN_BYTES);
	(void)gs_fail(err, GS_ECONFIG, "%s: %s", shown.data, why);
	gs_buf_fini(&shown);
	return false;
}

static bool
take_environment(struct found *found, struct gs_err *err)
{
	for (char **at = environ; at != NULL && *at != NULL; at++)
		if (strncmp(*at, PREFIX, strlen(PREFIX)) == 0 &&
		    !take_variable(found, *at, err))
			return false;
	return true;
}

static bool
take_flags(struct found *found, struct gs_err *err)
{
	struct cli *cli = found->config->cli;
	struct gs_buf where = GS_BUF_INIT;
	const char *value = NULL;
	bool ok = true;
	int option;

	while ((option = cli_option(cli, &value)) >= 0) {
		struct gs_str text = gs_str_of(value);

		gs_buf_clear(&where);
		gs_buf_printf(&where, "--%s", cli->options[option].name);
		if (ok && !gs_config_is_value(text))
			ok = gs_fail(err, GS_ECONFIG, "%s: a control byte in its value",
			    where.data);
		add(found,
		    (struct cli_setting){ .option = option,
			.value = value != NULL ? keep(found->config, text) : NULL,
			.place = CLI_FLAG,
			.where = keep(found->config,
			    (struct gs_str){ where.data, where.len }) });
	}
	gs_buf_fini(&where);
	return ok;
}

/* --- choosing --- */

/* Nothing of a higher place, nor a later flag, stands in its way. */
static bool
is_chosen(const struct found *found, size_t at)
{
	const struct cli_setting *setting = &found->settings[at];
	const struct cli_option *option = option_of(found->config, setting->option);

	for (size_t i = 0; i < found->num; i++) {
		const struct cli_setting *other = &found->settings[i];

		if (other->option != setting->option)
			continue;
		if (other->place > setting->place)
			return false;
		if (other->place == setting->place && i > at &&
		    !may_repeat(found->config, setting->option))
			return false;
	}
	return option->arg != NULL || setting->value == NULL;
}

/* Flags last: where several options set the same thing they win. */
static void
choose(const struct found *found, struct cli_config *config)
{
	config->num = 0;
	for (int place = CLI_FILE; place <= CLI_FLAG; place++) {
		for (size_t i = 0; i < found->num; i++) {
			if (found->settings[i].place != (enum cli_place)place ||
			    !is_chosen(found, i))
				continue;
			config->settings = gs_mem_more(config->settings, config->num,
			    &config->cap, sizeof(*config->settings));
			config->settings[config->num++] = found->settings[i];
		}
	}
}

/* Of the flags that were taken; NULL: none. */
static const char *
find_file(const struct found *found)
{
	const char *path = NULL;

	for (size_t i = 0; i < found->num; i++)
		if (strcmp(option_of(found->config, found->settings[i].option)->name,
			found->config->file_option) == 0)
			path = found->settings[i].value;
	return path;
}

static bool
finish(struct found *found, struct gs_err *err)
{
	const char *path = find_file(found);
	bool ok =
	    take_environment(found, err) && (path == NULL || take_file(found, path, err));

	if (ok)
		choose(found, found->config);
	free(found->settings);
	return ok;
}

bool
cli_config_read(struct cli_config *config, struct cli *cli, const char *file_option,
    struct gs_err *err)
{
	struct found found = { .config = config };

	config->cli = cli;
	config->file_option = file_option;
	config->texts = gs_map_new();
	if (take_flags(&found, err))
		return finish(&found, err);
	free(found.settings);
	return false;
}

bool
cli_config_reread(struct cli_config *config, struct gs_err *err)
{
	struct found found = { .config = config };

	for (size_t i = 0; i < config->num; i++)
		if (config->settings[i].place == CLI_FLAG)
			add(&found, config->settings[i]);
	return finish(&found, err);
}

void
cli_config_fini(struct cli_config *config)
{
	free(config->settings);
	config->settings = NULL;
	config->num = config->cap = 0;
	if (config->texts != NULL)
		gs_map_free(config->texts, NULL);
	config->texts = NULL;
}

void
cli_config_write(const struct cli_config *config, struct gs_buf *buf)
{
	for (size_t i = 0; i < config->num; i++) {
		const struct cli_setting *setting = &config->settings[i];
		const char *name = option_of(config, setting->option)->name;
		struct gs_str value = gs_str_of(setting->value);

		if (is_flag_only(config, name))
			continue;
		gs_buf_add_str(buf, "# from ");
		gs_buf_add_shown(buf, setting->where, strlen(setting->where), SIZE_MAX);
		gs_buf_add_char(buf, '\n');
		gs_config_write(buf, name,
		    setting->value != NULL ? value : GS_STR("true"));
	}
}
