// SPDX-License-Identifier: GPL-2.0-or-later
#include "link.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

const char *link_path() {
  return lib->settings->get_str(lib->settings, "%s.plugins.kernel-sallyport.socket", "/run/sallyport/control.sock",
                                lib->ns);
}

void link_init(link_t *link) {
  memset(link, 0, sizeof(*link));
  link->fd = -1;
}

bool link_open(link_t *link, unsigned seconds) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct timeval limit = {.tv_sec = seconds};
  const char *path = link_path();

  link_close(link);
  if (strlen(path) >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return FALSE;
  }
  strcpy(address.sun_path, path);
  link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (link->fd < 0) {
    return FALSE;
  }
  link->parser = json_tokener_new();
  if (connect(link->fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
      setsockopt(link->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0 ||
      setsockopt(link->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) != 0) {
    int reason = errno;
    link_close(link);
    errno = reason;
    return FALSE;
  }
  return TRUE;
}

bool link_send(link_t *link, const char *line, size_t length) {
  while (length) {
    ssize_t sent = send(link->fd, line, length, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) {
        continue;
      }
      return FALSE;
    }
    line += sent;
    length -= sent;
  }
  return TRUE;
}

// Parses the bytes read so far. NULL with errno EAGAIN if that is not yet an object.
static json_object *parse(link_t *link) {
  while (link->next < link->end) {
    json_object *object = json_tokener_parse_ex(link->parser, link->buffer + link->next, link->end - link->next);
    enum json_tokener_error error = json_tokener_get_error(link->parser);
    link->next += json_tokener_get_parse_end(link->parser);
    if (error == json_tokener_continue) {
      break;
    }
    if (error != json_tokener_success || !json_object_is_type(object, json_type_object)) {
      json_object_put(object);
      errno = EPROTO;
      return NULL;
    }
    return object;
  }
  errno = EAGAIN;
  return NULL;
}

json_object *link_receive(link_t *link, bool wait) {
  while (TRUE) {
    json_object *object = parse(link);
    if (object || errno != EAGAIN) {
      return object;
    }
    ssize_t received = recv(link->fd, link->buffer, sizeof(link->buffer), wait ? 0 : MSG_DONTWAIT);
    if (received < 0) {
      if (errno == EINTR) {
        continue;
      }
      return NULL;
    }
    if (received == 0) {
      errno = ECONNRESET;
      return NULL;
    }
    link->next = 0;
    link->end = received;
  }
}

void link_close(link_t *link) {
  if (link->fd >= 0) {
    close(link->fd);
    json_tokener_free(link->parser);
  }
  link_init(link);
}
