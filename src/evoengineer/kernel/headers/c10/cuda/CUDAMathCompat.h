#pragma once
#include "../../evo/torch.h"
#include "../../evo/compat.h"
